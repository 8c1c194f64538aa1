/** Which scripts go out by their hash: what the server was shown on this connection, and never on trust in a batch. */

import { expect } from "chai";
import { Batch, BatchKind } from "../../../src/command/batch";
import { Command, IGNORED } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { ScriptMemory } from "../../../src/connection/script-memory";

describe("ScriptMemory", () => {
  let memory: ScriptMemory;

  beforeEach(() => {
    memory = new ScriptMemory();
  });

  interface Place {
    readonly batch?: Batch;
    readonly group?: Batch;
    readonly scriptBatch?: Batch;
    readonly isReadOnly?: boolean;
  }

  /** The words with which a call of the script goes out. */
  function run(name: string, { batch, group, scriptBatch, isReadOnly = false }: Place = {}): string {
    const command = new Command(specOf("eval"), ["", "1", "key"], false, IGNORED);
    const extra = command.ensureExtra();
    extra.group = group ?? null;
    extra.scriptBatch = scriptBatch ?? null;
    const [byText, bySha] = isReadOnly ? ["eval_ro", "evalsha_ro"] : ["eval", "evalsha"];
    extra.script = {
      lua: `return ${name}`,
      sha: `sha of ${name}`,
      byText: specOf(byText),
      bySha: specOf(bySha),
      isReadOnly,
    };
    batch?.add(command);
    memory.choose(command);
    return [command.name, ...command.args].join(" ");
  }

  const text = (name: string): string => `eval return ${name} 1 key`;
  const hash = (name: string): string => `evalsha sha of ${name} 1 key`;
  const batchOf = (kind: BatchKind): Batch => new Batch(kind, 0, null);

  it("shows a script once", () => {
    expect(["a", "b", "a", "b"].map((name) => run(name))).to.deep.equal([
      text("a"),
      text("b"),
      hash("a"),
      hash("b"),
    ]);
    expect(run("a", { isReadOnly: true })).to.equal("evalsha_ro sha of a 1 key");
    expect(run("c", { isReadOnly: true })).to.equal("eval_ro return c 1 key");
  });

  it("leaves other commands as they are", () => {
    const [plain, made] = ["get", "eval"].map(
      (name) => new Command(specOf(name), ["k", "0"], false, IGNORED),
    );
    made?.ensureExtra();
    for (const one of [plain, made] as Command[]) memory.choose(one);
    expect([plain, made].map((one) => [one?.name, one?.args])).to.deep.equal([
      ["get", ["k", "0"]],
      ["eval", ["k", "0"]],
    ]);
  });

  it("shows it again when the server has forgotten it, and only that one", () => {
    memory.forget("sha of a");
    for (const name of ["a", "b"]) run(name);
    memory.forget("sha of a");
    expect(["a", "a", "b"].map((name) => run(name))).to.deep.equal([text("a"), hash("a"), hash("b")]);
  });

  it("shows it once in each transaction, whatever was shown before; commands behind it profit", () => {
    run("a");
    for (let round = 0; round < 2; round++) {
      const batch = batchOf(BatchKind.Transaction);
      expect([run("a", { batch }), run("a", { batch })]).to.deep.equal([text("a"), hash("a")]);
      if (round === 0) expect(run("b", { batch })).to.equal(text("b"));
    }
    expect([run("a"), run("b")]).to.deep.equal([hash("a"), hash("b")]);
  });

  it("takes a script of a transaction for forgotten there, too", () => {
    const batch = batchOf(BatchKind.Transaction);
    run("a", { batch });
    memory.forget("sha of a");
    expect([run("a", { batch }), run("a", { batch })]).to.deep.equal([text("a"), hash("a")]);
  });

  it("goes by the batch of the caller where a cluster has put another in its place", () => {
    run("a");
    const how = { scriptBatch: batchOf(BatchKind.Pipeline), batch: batchOf(BatchKind.Pipeline) };
    expect([run("a", how), run("a", how)]).to.deep.equal([text("a"), hash("a")]);
  });

  it("trusts what was shown where commands are gathered, or in a batch that is only a node's", () => {
    run("a");
    for (const kind of [BatchKind.Automatic, BatchKind.Pipeline])
      expect(run("a", { batch: batchOf(kind) })).to.equal(hash("a"));
  });

  it("shows it once in a transaction that is opened by hand", () => {
    run("a");
    const group = batchOf(BatchKind.Transaction);
    expect([run("a", { group }), run("a", { group }), run("a")]).to.deep.equal([
      text("a"),
      hash("a"),
      hash("a"),
    ]);
  });
});
