import { Socket } from "node:net";
import { expect } from "chai";
import { ClientTracer, keepScope, type TracedClient } from "../../../src/client/client-tracer";
import { makeCommand } from "../../../src/command/command-factory";
import { specOf } from "../../../src/command/command-table";
import { PromiseCompletion } from "../../../src/command/promise-completion";
import { isTraced } from "../../../src/connection/flush-encoder";
import { type Heard, listen } from "../../support/trace-listener";

function clientWith(options: TracedClient["options"], stream: TracedClient["stream"] = null): TracedClient {
  return { options, stream, stats: () => ({}) };
}

function command(...args: string[]): ReturnType<typeof makeCommand> {
  const completion = new PromiseCompletion();
  completion.promise.catch(() => {});
  return makeCommand(specOf("get"), args, false, completion);
}

function words(...all: string[]): (tracer: ClientTracer) => void {
  return (tracer) => {
    for (const word of all) tracer.onStatus(word);
  };
}

describe("ClientTracer", () => {
  let heard: Heard[];
  let stop: () => void;

  beforeEach(() => {
    ({ heard, stop } = listen());
  });

  afterEach(() => stop());

  const SENTINELS = [{ host: "s" }];
  const found = Object.create(Socket.prototype, {
    remoteAddress: { value: "10.0.0.7" },
    remotePort: { value: 7000 },
  }) as Socket;
  const addresses: [string, TracedClient, object][] = [
    ["host and port", clientWith({ host: "h", port: 1 }), { serverAddress: "h", serverPort: 1 }],
    ["defaults", clientWith({}), { serverAddress: "localhost", serverPort: 6379 }],
    ["a unix socket", clientWith({ path: "/s", host: "h" }), { serverAddress: "/s", serverPort: undefined }],
    [
      "the server that a Sentinel named",
      clientWith({ host: "localhost", port: 6379, sentinels: SENTINELS }, found),
      { serverAddress: "10.0.0.7", serverPort: 7000 },
    ],
    [
      "a server not found yet",
      clientWith({ sentinels: SENTINELS }),
      { serverAddress: "localhost", serverPort: 6379 },
    ],
  ];
  for (const [name, client, expected] of addresses) {
    it(`reports ${name}`, () => {
      new ClientTracer(client).onWrite(command("k"));
      expect(heard[0]?.context).to.include(expected);
    });
  }

  it("reports a command once, and none that is settled", () => {
    const tracer = new ClientTracer(clientWith({}));
    const one = command("k");
    tracer.onWrite(one);
    tracer.onWrite(one);
    const settled = command("k");
    settled.fail(new Error("no"));
    tracer.onWrite(settled);
    expect(heard.map(({ event }) => event)).to.deep.equal(["command:start", "command:end"]);
  });

  const failure = new Error("refused");
  const courses: [string, (tracer: ClientTracer) => void, string[]][] = [
    ["success", words("connecting", "connect", "ready"), ["ok 0"]],
    [
      "a lost socket, then a give-up",
      (tracer) => {
        tracer.onStatus("connecting");
        tracer.onError(failure);
        tracer.onStatus("close");
        tracer.onStatus("reconnecting");
        tracer.onStatus("connecting");
        tracer.onStatus("end");
      },
      ["Connection is closed. because of refused 0", "Connection is closed. 1"],
    ],
    [
      "no way to the server",
      (tracer) => {
        tracer.onStatus("connecting");
        tracer.onError(failure);
        tracer.onStatus("end");
      },
      ["refused 0"],
    ],
    [
      "an attempt that was given up for another",
      words("connecting", "reconnecting", "connecting", "ready"),
      ["Connection is closed. 0", "ok 1"],
    ],
    ["a close after ready, which is no attempt", words("connecting", "ready", "close", "end"), ["ok 0"]],
  ];
  for (const [name, course, expected] of courses) {
    it(`follows ${name}`, () => {
      course(new ClientTracer(clientWith({})));
      const ended = heard.filter(({ event }) => event === "connect:asyncEnd");
      const outcomes = ended.map(({ context }) => {
        const error = context["error"] as Error | undefined;
        const cause = error?.cause === undefined ? "" : ` because of ${(error.cause as Error).message}`;
        return `${error?.message ?? "ok"}${cause} ${String(context["connectionEpoch"])}`;
      });
      expect(outcomes).to.deep.equal(expected);
    });
  }

  it("does nothing while nobody listens", () => {
    stop();
    const tracer = new ClientTracer(clientWith({}));
    expect(isTraced(tracer)).to.equal(false);
    expect(tracer.onTransaction(2, 0)).to.equal(null);
    tracer.onStatus("connecting");
    tracer.onStatus("ready");
    expect(heard).to.deep.equal([]);
  });

  it("keeps the place where commands were issued until they are written", () => {
    const [first, second] = [command("a"), command("b")];
    keepScope([first, second]);
    expect(first.extra?.scope).to.be.an("object").and.equal(second.extra?.scope);
    new ClientTracer(clientWith({})).onWrite(first);
    expect(first.extra?.scope).to.equal(null);
  });
});
