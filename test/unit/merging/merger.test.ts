/** Merging above a link: which commands are sent, and what becomes of members after an error reply. */

import { expect } from "chai";
import { Batch, BatchKind } from "../../../src/command/batch";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { PromiseCompletion } from "../../../src/command/promise-completion";
import { ReplyError } from "../../../src/errors";
import { type MergedLink, Merger, type MergerOwner } from "../../../src/merging/merger";

const SHAPE = { protocol: 3, replyMapping: "legacy" } as const;
const NOPERM = new ReplyError("NOPERM no rights for mget");

describe("Merger", () => {
  let sent: Command[];
  let redirected: string[];
  let behind: Command[];
  let connection: object | null;
  let takesAll: boolean;
  let merger: Merger;
  let made: Command[];

  const link: MergedLink & MergerOwner = {
    connectionFor: () => connection,
    unanswered: () => behind,
    movesOn: (command, error) => {
      if (takesAll) redirected.push(`${shown(command)}: ${error.message}`);
      return takesAll;
    },
    report: () => {},
  };

  beforeEach(() => {
    [sent, redirected, behind, made] = [[], [], [], []];
    connection = {};
    takesAll = false;
    merger = new Merger(
      {
        dispatch: (command) => void sent.push(command),
        dispatchBatch: (commands) => void sent.push(...commands),
      },
      link,
      link,
    );
  });
  afterEach(() => {
    for (const command of made) command.fail(new Error("the test is over"));
  });

  function shown({ name, args }: Command): string {
    return [name, ...args].join(" ");
  }

  function command(line: string): Command {
    const [name = "", ...args] = line.split(" ");
    const completion = new PromiseCompletion();
    completion.promise.catch(() => {});
    const one = new Command(specOf(name), args, false, completion);
    made.push(one);
    return one;
  }

  /** Sends the lines as one batch and returns what reached the link. */
  function send(lines: readonly string[], change: (batch: Batch) => void = () => {}): string[] {
    const batch = new Batch(BatchKind.Pipeline, 0, null);
    batch.merging = { merged: ["get", "set", "hget"], coalesces: false };
    change(batch);
    const commands = lines.map(command);
    for (const one of commands) batch.add(one);
    sent = [];
    merger.dispatchBatch(commands);
    return sent.map(shown);
  }

  /** The server supports the forms and the user has all rights. */
  function prove(): void {
    send(["get a", "get b", "set a 1", "set b 2"]);
    for (const one of sent) one.fulfil(one.name === "mget" ? [null] : "OK", SHAPE);
  }

  function outcomeOf({ promise }: Command): Promise<unknown> {
    return promise.catch((error: Error) => error.message);
  }

  it("proves a form with a command of the connection, then sends one command for several", () => {
    expect(send(["get a", "get b"])).to.deep.equal(["get a", "get b", "mget \0"]);
    sent[2]?.fulfil([null], SHAPE);
    expect(send(["get a", "get b", "incr n", "get c", "get d"])).to.deep.equal([
      "mget a b",
      "incr n",
      "mget c d",
    ]);
  });

  it("proves a form again on another connection", () => {
    prove();
    connection = {};
    expect(send(["get a", "get b"])).to.deep.equal(["get a", "get b", "mget \0"]);
  });

  it("sends commands unchanged if they would wait, belong to a transaction or are not to be merged", () => {
    prove();
    const lines = ["get a", "get b"];
    expect(send(lines, (batch) => (batch.kind = BatchKind.Transaction))).to.deep.equal(lines);
    expect(send(lines, (batch) => (batch.merging = null))).to.deep.equal(lines);
    connection = null;
    expect(send(lines)).to.deep.equal(lines);
  });

  it("merges only commands with the same retry policy", () => {
    prove();
    const batch = new Batch(BatchKind.Pipeline, 0, null);
    batch.merging = { merged: ["get"], coalesces: true };
    const commands = ["get a", "get b", "get c", "get d", "get a"].map(command);
    for (const one of commands) batch.add(one);
    for (const one of commands.slice(2)) one.ensureExtra().retryPolicy = "at-most-once";
    sent = [];
    merger.dispatchBatch(commands);
    expect(sent.map(shown)).to.deep.equal(["mget a b", "mget c d a"]);
  });

  it("sends the members singly after a refusal of the form, except those that are overtaken", async () => {
    prove();
    send(["get a", "get b", "get c"]);
    const [merged] = sent as [Command];
    const members = made.slice(-3) as [Command, Command, Command];
    members[2].fail(new Error("given up"));
    behind = [command("set b 2")];
    sent = [];
    expect(merger.divides(merged, NOPERM)).to.equal(true);
    expect(sent.map(shown)).to.deep.equal(["get a"]);
    expect(merged.isSettled).to.equal(true);
    expect(await outcomeOf(members[1])).to.equal(NOPERM.message);
    expect(members[0].isSettled).to.equal(false);
    expect(send(["get a", "get b"]), "the form is refused").to.deep.equal(["get a", "get b"]);
  });

  it("gives redirects to the cluster, member by member", () => {
    prove();
    takesAll = true;
    send(["get a", "get b"]);
    expect(merger.divides(sent[0] as Command, new ReplyError("MOVED 1 h:1"))).to.equal(true);
    expect(redirected).to.deep.equal(["get a: MOVED 1 h:1", "get b: MOVED 1 h:1"]);
    expect(made.slice(-2).every(({ isSettled }) => !isSettled)).to.equal(true);
  });

  it("sends members singly after TRYAGAIN: each key is on one node", () => {
    prove();
    takesAll = true;
    send(["get a", "get b"]);
    const [merged] = sent as [Command];
    sent = [];
    expect(merger.divides(merged, new ReplyError("TRYAGAIN Multiple keys"))).to.equal(true);
    expect([sent.map(shown), redirected]).to.deep.equal([["get a", "get b"], []]);
  });

  it("leaves errors of ordinary commands, and those that apply to each member", async () => {
    prove();
    expect(merger.divides(command("get a"), NOPERM)).to.equal(false);
    send(["hget h a", "hget h b"]);
    for (const one of sent) one.fulfil(null, SHAPE);
    send(["hget h a", "hget h b"]);
    const [merged] = sent as [Command];
    const error = new ReplyError("WRONGTYPE no hash");
    expect(merger.divides(merged, error)).to.equal(false);
    merged.fail(error);
    expect(await Promise.all(made.slice(-2).map(outcomeOf))).to.deep.equal([error.message, error.message]);
  });
});
