/** How a client makes its batches: lists and options in the place of each other, merging, transactions, bulks. */

import { EventEmitter } from "node:events";
import { expect } from "chai";
import { makePipeline, makeTransaction, openBulk } from "../../../src/client/batches";
import { mergingOf } from "../../../src/client/merging";
import type { CommandList, PipelineOptions } from "../../../src/client/types";
import type { Batch } from "../../../src/command/batch";
import type { Command } from "../../../src/command/command";
import { OptionError } from "../../../src/errors";
import { Pipeline } from "../../../src/pipeline/pipeline";
import { PIPELINE_CLASS, type PipelineHost } from "../../../src/pipeline/pipeline-run";
import { ScriptedSender } from "../../support/scripted-sender";

const SHAPE = { protocol: 2, replyMapping: "legacy" } as const;

type Host = PipelineHost & EventEmitter & { [PIPELINE_CLASS](): typeof Pipeline };

/** The sender as a client whose pipelines have this class. */
function hostOf(way: ScriptedSender, OwnPipeline: typeof Pipeline): Host {
  const events = new EventEmitter();
  return Object.assign(way, { once: events.once.bind(events), [PIPELINE_CLASS]: () => OwnPipeline }) as never;
}

describe("batches of a client", () => {
  let way: ScriptedSender;
  let host: Host;

  class OwnPipeline extends Pipeline {}

  beforeEach(() => {
    way = new ScriptedSender({ keyPrefix: "p:" });
    host = hostOf(way, OwnPipeline);
  });
  afterEach(() => {
    for (const one of way.batches.flat()) one.fail(new Error("the test is over"));
  });

  const pipeline = (commands?: unknown, options?: PipelineOptions): Pipeline =>
    makePipeline(host, commands as CommandList | undefined, options);

  /** Sends it, and returns the batch that it went in. */
  function batchOf(one: Pipeline): Batch {
    one.get("end");
    one.exec().catch(() => {});
    const [command] = way.batches.at(-1) as [Command];
    return command.batch as Batch;
  }

  const words = (): string[] => way.batches.flat().map(({ name, args }) => [name, ...args].join(" "));

  it("are pipelines of the client's own class, filled in order, with its prefix", () => {
    const one = pipeline([
      ["get", "a"],
      ["set", "b", "1"],
    ]);
    expect(one).to.be.instanceOf(OwnPipeline);
    expect([one.length, one.redis]).to.deep.equal([2, host]);
    batchOf(one);
    expect(words()).to.deep.equal(["get p:a", "set p:b 1", "get p:end"]);
    expect([pipeline().length, pipeline([]).length, pipeline({ merge: true }).length]).to.deep.equal([
      0, 0, 0,
    ]);
  });

  it("take whatever can be walked through for a list", () => {
    function* commands(): Generator<readonly string[]> {
      yield ["get", "a"];
    }
    expect([pipeline(commands()).length, pipeline(new Set([["get", "a"]])).length]).to.deep.equal([1, 1]);
    expect(pipeline(null).length).to.equal(0);
  });

  it("merge where the options say so, in the first place or in the second", () => {
    const asked: [unknown, PipelineOptions | undefined][] = [
      [{ merge: true }, undefined],
      [[], { merge: true }],
      [undefined, { merge: ["hget"] }],
    ];
    for (const [commands, options] of asked) {
      const merging = batchOf(pipeline(commands, options)).merging;
      expect([mergingOf(true, false), mergingOf(["hget"], false)]).to.deep.include(merging);
    }
    const unasked: [unknown, PipelineOptions | undefined][] = [
      [undefined, undefined],
      [[], undefined],
      [{}, undefined],
      [{ merge: false }, undefined],
      [[], { merge: [] }],
      // Those in the second place are the options.
      [{ merge: true }, {}],
    ];
    for (const [commands, options] of unasked)
      expect(batchOf(pipeline(commands, options)).merging).to.equal(null);
  });

  it("refuse to merge what cannot be merged", () => {
    for (const merge of ["hget", ["del"], 1]) {
      expect(() => pipeline({ merge })).to.throw(OptionError, "Invalid option merge ");
      expect(() => pipeline([], { merge } as never)).to.throw(OptionError, "Invalid option merge ");
    }
  });

  it("are transactions, opened and filled", async () => {
    const one = makeTransaction(host, [["get", "a"]]);
    expect(one).to.be.instanceOf(OwnPipeline);
    const outcome = one.exec();
    expect(words()).to.deep.equal(["multi", "get p:a", "exec"]);
    ["OK", "QUEUED", ["1"]].forEach((reply, index) => {
      way.batches[0]?.[index]?.fulfil(reply, SHAPE);
    });
    expect(await outcome).to.deep.equal([[null, "1"]]);
    expect(makeTransaction(host).length).to.equal(1);
  });

  it("fill a pipeline past methods that its class has replaced", () => {
    const seen: unknown[] = [];
    class Replaced extends Pipeline {
      override addBatch(commands: CommandList): this {
        seen.push(commands);
        return this;
      }
    }
    expect(makePipeline(hostOf(way, Replaced), [["get", "a"]], undefined).length).to.equal(1);
    expect(seen).to.deep.equal([]);
  });

  it("are bulks, which keep rows for those who read them", async () => {
    for (const isRead of [true, false]) {
      way = new ScriptedSender({ keyPrefix: "p:" });
      host = hostOf(way, OwnPipeline);
      const bulk = openBulk(host, way, [["get", "a"]], { batchSize: 1 });
      const rows: unknown[] = [];
      const over = (async () => {
        if (isRead) for await (const row of bulk) rows.push(row);
        else await bulk.summary();
      })();
      while (way.batches.length === 0) await new Promise((resolve) => setImmediate(resolve));
      const [command] = way.batches[0] as [Command];
      expect(command.args).to.deep.equal(["p:a"]);
      command.fulfil("1", SHAPE);
      await over;
      expect(rows).to.deep.equal(isRead ? [[null, "1"]] : []);
      expect((await bulk.summary()).succeeded).to.equal(1);
    }
  });
});
