/** How a pipeline is told of: to `sluice:pipeline`, to `sluice/otel`, or to nobody. In virtual time. */

import { tracingChannel } from "node:diagnostics_channel";
import { format as formatText, stripVTControlCharacters } from "node:util";
import { expect } from "chai";
import debug from "debug";
import { ReplyError } from "../../../src/errors";
import { hooks } from "../../../src/observability/hooks";
import type { PipelineContext } from "../../../src/observability/work-channels";
import type { Row } from "../../../src/pipeline/transaction";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";

type Kind = "pipeline" | "transaction" | "bulk";

const SERVER = { serverAddress: "host", serverPort: 1 };

describe("tracePipeline", () => {
  let home: InVirtualTime<typeof import("../../../src/client/pipeline-trace")>;
  let heard: [string, PipelineContext][];
  let isLogging: boolean;
  let nodes: number;
  const channel = tracingChannel<unknown, PipelineContext>("sluice:pipeline");
  const note =
    (word: string) =>
    (context: object): void =>
      void heard.push([word, { ...(context as PipelineContext) }]);
  const handlers = {
    start: note("start"),
    end: note("end"),
    asyncStart: note("asyncStart"),
    asyncEnd: note("asyncEnd"),
    error: note("error"),
  };

  before(() => {
    home = inVirtualTime(() => require("../../../src/client/pipeline-trace"));
  });

  beforeEach(() => {
    home.time.reset();
    heard = [];
    isLogging = false;
    nodes = 1;
  });

  afterEach(() => {
    channel.unsubscribe(handlers);
    hooks.batch = null;
  });

  function trace(kind: Kind, names: readonly string[]) {
    const run = { kind, length: names.length, nameAt: (index: number) => names[index] as string };
    const target = {
      callCounts: { onFulfilled() {}, onFailed() {} },
      isPatched: false,
      flushes: 0,
      database: 2,
      server: () => SERVER,
      get isLogging() {
        return isLogging;
      },
      nodesOfLast: () => nodes,
    };
    return home.modules.tracePipeline(run, target);
  }

  /** The context at the start. */
  function contextOf(kind: Kind, names: readonly string[]): PipelineContext {
    heard = [];
    trace(kind, names)?.around(() => {});
    return heard[0]?.[1] as PipelineContext;
  }

  it("makes nothing while nobody listens", () => {
    expect(trace("pipeline", ["get"])).to.equal(null);
  });

  it("tells what is sent before it is sent, and among how many nodes when it was", () => {
    channel.subscribe(handlers);
    const seen: number[] = [];
    nodes = 3;
    trace("pipeline", ["get", "get", "set"])?.around(() => seen.push(heard.length));
    expect(seen, "sent within the start").to.deep.equal([1]);
    expect(heard.map(([word]) => word)).to.deep.equal(["start", "end"]);
    expect(heard[0]?.[1]).to.deep.equal({
      kind: "pipeline",
      size: 3,
      commands: { get: 2, set: 1 },
      database: 2,
      isPatched: false,
      ...SERVER,
    });
    expect(heard[1]?.[1].nodes).to.equal(3);
  });

  it("counts neither MULTI nor EXEC of a transaction", () => {
    channel.subscribe(handlers);
    const { size, commands } = contextOf("transaction", ["multi", "set", "get", "set", "exec"]);
    expect([size, commands]).to.deep.equal([3, { set: 2, get: 1 }]);
    expect(contextOf("bulk", ["multi", "exec"])).to.deep.include({
      size: 2,
      commands: { multi: 1, exec: 1 },
    });
  });

  it("counts up to sixteen names, and masks what stands in a name", () => {
    channel.subscribe(handlers);
    const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `c${index}`);
    expect(Object.keys(contextOf("pipeline", names(16)).commands ?? {}).length).to.equal(16);
    expect(contextOf("pipeline", [...names(16), ...names(16)]).commands).to.deep.include({ c0: 2, c15: 2 });
    expect(contextOf("pipeline", names(17)).commands).to.equal(null);
    expect(contextOf("pipeline", names(40)).commands).to.equal(null);
    expect(contextOf("pipeline", ["auth secret"]).commands).to.deep.equal({ "auth ***": 1 });
  });

  it("measures the wait, the way and the settling", async () => {
    channel.subscribe(handlers);
    const observer = trace("pipeline", ["get", "get"]);
    observer?.around(() => {});
    await home.pass(10);
    observer?.onStarted();
    await home.pass(20);
    observer?.onAnswered();
    await home.pass(40);
    // Of parts, the first counts.
    observer?.onStarted();
    observer?.onAnswered();
    observer?.onEnd(
      [
        [null, "a"],
        [null, "b"],
      ],
      0,
      null,
    );
    expect(heard.slice(2).map(([word]) => word)).to.deep.equal(["asyncStart", "asyncEnd"]);
    expect(heard.at(-1)?.[1]).to.include({ queuedMs: 10, wireMs: 20, settlingMs: 40, durationMs: 70 });
    expect(heard.at(-1)?.[1].errors).to.deep.equal({});
  });

  it("says null of what was not seen", () => {
    channel.subscribe(handlers);
    const [unsent, unanswered] = [trace("pipeline", ["get"]), trace("pipeline", ["get"])];
    unsent?.around(() => {});
    unsent?.onEnd([], 0, null);
    expect(heard.at(-1)?.[1]).to.include({ queuedMs: null, wireMs: null, settlingMs: null });
    unanswered?.around(() => {});
    unanswered?.onStarted();
    unanswered?.onEnd([], 0, null);
    expect(heard.at(-1)?.[1]).to.include({ queuedMs: 0, wireMs: null, settlingMs: null });
  });

  it("counts errors by their words, those among the replies of EXEC as well, and tells a refusal", () => {
    channel.subscribe(handlers);
    const observer = trace("transaction", ["multi", "get", "exec"]);
    observer?.around(() => {});
    const refusal = new Error("refused");
    observer?.onEnd(
      [
        [new ReplyError("WRONGTYPE no")],
        [null, ["ok", new ReplyError("WRONGTYPE no"), new ReplyError("ERR x")]],
      ],
      3,
      refusal,
    );
    expect(heard.slice(2).map(([word]) => word)).to.deep.equal(["error", "asyncStart", "asyncEnd"]);
    expect(heard.at(-1)?.[1].errors).to.deep.equal({ WRONGTYPE: 2, ERR: 1 });
    expect(heard.at(-1)?.[1].error).to.equal(refusal);
  });

  it("does not look for errors where there are none", () => {
    channel.subscribe(handlers);
    const observer = trace("pipeline", ["get"]);
    observer?.around(() => {});
    const rows = [[new ReplyError("ERR x")]] as [[Error]];
    observer?.onEnd(rows, 0, null);
    expect(heard.at(-1)?.[1].errors).to.deep.equal({});
  });

  it("tells sluice/otel of every batch, and of its end, whatever that throws", async () => {
    const ends: unknown[] = [];
    hooks.batch = (facts, source) => {
      ends.push([facts.kind, source.database]);
      return { onEnd: (...end) => void ends.push(end) };
    };
    const observer = trace("pipeline", ["get"]);
    let sent = 0;
    observer?.around(() => sent++);
    await home.pass(5);
    observer?.onStarted();
    const refusal = new Error("refused");
    observer?.onEnd([[new ReplyError("ERR x")]], 1, refusal);
    expect([sent, heard.length, ends]).to.deep.equal([
      1,
      0,
      [
        ["pipeline", 2],
        [{ ERR: 1 }, refusal, 5],
      ],
    ]);
    hooks.batch = () => ({
      onEnd: () => {
        throw new Error("an exporter");
      },
    });
    const throwing = trace("pipeline", ["get"]);
    expect(() => throwing?.onEnd([], 0, null)).to.not.throw();
    hooks.batch = () => {
      throw new Error("an exporter");
    };
    expect(trace("pipeline", ["get"])).to.equal(null);
    hooks.batch = () => null;
    expect(trace("pipeline", ["get"])).to.equal(null);
  });

  it("keeps the figures for the debug output, and tells the channel nothing when nobody is there", () => {
    isLogging = true;
    const observer = trace("pipeline", ["get"]);
    let sent = 0;
    observer?.around(() => sent++);
    observer?.onEnd([[null, "a"]], 0, null);
    expect([sent, heard.length]).to.deep.equal([1, 0]);
  });

  it("writes a line for each to the debug output", () => {
    const before = { namespaces: debug.disable(), log: debug.log, topic: process.env["DEBUG"] };
    const lines: string[] = [];
    debug.enable("sluice:pipeline");
    debug.log = (format: string, ...words: unknown[]) => {
      lines.push(stripVTControlCharacters(formatText(format, ...words)));
    };
    try {
      isLogging = true;
      const write = (names: string[], rows: Row[], failures: number): void => {
        const observer = trace("pipeline", names);
        observer?.around(() => {});
        observer?.onStarted();
        observer?.onEnd(rows, failures, null);
      };
      write(["get", "get", "set"], [[null, "a"]], 0);
      nodes = 3;
      write(["get"], [[new ReplyError("ERR no")]], 1);
      write(
        Array.from({ length: 18 }, (_, index) => `name-${index}`),
        [],
        0,
      );
    } finally {
      debug.log = before.log;
      debug.enable(before.namespaces);
      if (before.topic === undefined) delete process.env["DEBUG"];
    }
    expect(lines.length).to.equal(3);
    expect(lines[0]).to.include("pipeline of 3 (2 get, 1 set) to host:1: 0.0 ms, 0.0 queued, no errors");
    expect(lines[1]).to.include("pipeline of 1 (1 get) to 3 nodes: 0.0 ms, 0.0 queued, 1 ERR");
    expect(lines[2]).to.include("pipeline of 18 (many commands) to 3 nodes");
  });
});
