import { AsyncLocalStorage } from "node:async_hooks";
import { tracingChannel } from "node:diagnostics_channel";
import { expect } from "chai";
import { batchChannel, commandChannel, connectChannel, Trace } from "../../../src/observability/channels";
import { type Heard, listen } from "../../support/trace-listener";

const ORIGIN = { database: 2, serverAddress: "h", serverPort: 1 };

function nothing(): void {}

describe("tracing channels", () => {
  let heard: Heard[];
  let stop: () => void;

  beforeEach(() => {
    ({ heard, stop } = listen());
  });

  afterEach(() => stop());

  it("are silent while nobody listens, to each channel and event", () => {
    stop();
    expect([commandChannel.isHeard, batchChannel.isHeard, connectChannel.isHeard]).to.deep.equal([
      false,
      false,
      false,
    ]);
    const channel = tracingChannel("ioredis:command");
    for (const event of ["start", "end", "asyncStart", "asyncEnd", "error"] as const) {
      channel[event].subscribe(nothing);
      expect([commandChannel.isHeard, batchChannel.isHeard, connectChannel.isHeard]).to.deep.equal([
        true,
        false,
        false,
      ]);
      channel[event].unsubscribe(nothing);
      expect(commandChannel.isHeard).to.equal(false);
    }
  });

  it("report success with one context object", () => {
    const trace = new Trace(commandChannel, { command: "SET", args: ["k", "?"], ...ORIGIN }).around(nothing);
    trace.onSettled(null, "OK");
    expect(heard.map(({ event }) => event)).to.deep.equal([
      "command:start",
      "command:end",
      "command:asyncStart",
      "command:asyncEnd",
    ]);
    for (const { context } of heard) expect(context).to.equal(trace.context);
    expect(trace.context).to.deep.equal({ command: "SET", args: ["k", "?"], ...ORIGIN, result: "OK" });
  });

  it("report failure", () => {
    const error = new Error("no");
    const trace = new Trace(batchChannel, { batchMode: "MULTI", batchSize: 3, ...ORIGIN }).around(nothing);
    trace.onSettled(error);
    expect(heard.map(({ event }) => event)).to.deep.equal([
      "batch:start",
      "batch:end",
      "batch:error",
      "batch:asyncStart",
      "batch:asyncEnd",
    ]);
    expect(trace.context).to.deep.equal({ batchMode: "MULTI", batchSize: 3, ...ORIGIN, error });
  });

  it("report connects with the number of attempts before", () => {
    const server = { serverAddress: "/run/redis.sock", serverPort: undefined };
    const trace = new Trace(connectChannel, { connectionEpoch: 4, ...server }).around(nothing);
    trace.onSettled(null);
    expect(trace.context).to.deep.equal({
      serverAddress: "/run/redis.sock",
      serverPort: undefined,
      connectionEpoch: 4,
      result: undefined,
    });
  });

  it("run the work in the stores that are bound to start", () => {
    const store = new AsyncLocalStorage<object>();
    const { start } = tracingChannel("ioredis:batch");
    start.bindStore(store, (context) => ({ span: context }));
    try {
      let seen: unknown;
      const trace = new Trace(batchChannel, { batchMode: "MULTI", batchSize: 1, ...ORIGIN }).around(() => {
        seen = store.getStore();
      });
      expect(seen).to.deep.equal({ span: trace.context });
      expect(store.getStore()).to.equal(undefined);
    } finally {
      start.unbindStore(store);
    }
  });
});
