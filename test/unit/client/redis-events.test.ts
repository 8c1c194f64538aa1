/** The reports of a link as the events of its client: who is told what, in which order, and what listeners that throw do not disturb. */

import { EventEmitter } from "node:events";
import { expect } from "chai";
import { PARTS } from "../../../src/client/chain";
import { type EventfulClient, type LinkSupervisor, RedisEvents } from "../../../src/client/redis-events";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { ReplyError } from "../../../src/errors";
import type { Takeover } from "../../../src/link/link-options";
import type { LinkStatus } from "../../../src/link/link-state";
import type { Message } from "../../../src/protocol/message";
import { Ending } from "../../support/ending";
import { uncaughtDuring } from "../../support/uncaught";

const tick = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

function get(key: string): Command {
  return new Command(specOf("get"), [key], false, new Ending());
}

const endingOf = ({ completion }: Command): Ending => completion as unknown as Ending;

describe("RedisEvents", () => {
  let told: unknown[][];
  let client: EventEmitter & { options: object; [PARTS]?: unknown };
  let events: RedisEvents;

  beforeEach(() => {
    told = [];
    client = Object.assign(new EventEmitter(), {
      options: {},
      silentEmit: (event: string, argument: unknown) => client.emit(event, argument),
    });
    for (const event of [
      "connect",
      "ready",
      "end",
      "reconnecting",
      "error",
      "busy",
      "select",
      "gap",
      "moved",
    ])
      client.on(event, tell(event));
    const tracer = { onStatus: tell("traced"), onError: tell("traced error") };
    events = new RedisEvents(client as unknown as EventfulClient, tracer as never);
  });

  const tell =
    (...words: unknown[]) =>
    (...more: unknown[]): void =>
      void told.push([...words, ...more]);

  function build(): void {
    client[PARTS] = {
      auto: { hold: tell("hold") },
      tracker: { onStatus: (isReady: boolean) => tell("tracker")(isReady), onPush: tell("tracker heard") },
      leases: {
        close: () => {
          tell("lease closed")();
          return [];
        },
      },
    };
  }

  describe("a status", () => {
    it("is told to the parts at once, and to listeners at the end of the run", async () => {
      build();
      events.supervisor = { onStatus: tell("supervisor") };
      events.onStatus("ready", undefined);
      expect(told).to.deep.equal([
        ["traced", "ready"],
        ["hold", true],
        ["tracker", true],
        ["supervisor", "ready"],
      ]);
      await tick();
      expect(told.at(-1)).to.deep.equal(["ready"]);
    });

    it("that is another one ends what being ready has begun", async () => {
      build();
      for (const status of ["connect", "reconnecting", "close", "end"] satisfies LinkStatus[]) {
        told = [];
        events.onStatus(status, undefined);
        expect(told.slice(0, 3)).to.deep.equal([
          ["traced", status],
          ["hold", false],
          ["tracker", false],
        ]);
        const words = told.map(([word]) => word);
        expect(words.includes("lease closed"), status).to.equal(status === "end");
        await tick();
      }
    });

    it("brings its argument, if it has one", async () => {
      events.onStatus("reconnecting", 50);
      events.onStatus("ready", undefined);
      await tick();
      expect(told.slice(2)).to.deep.equal([["reconnecting", 50], ["ready"]]);
    });

    it("takes the place of the word that an application has written", () => {
      events.shownStatus = "mine" as never;
      events.onStatus("connect", undefined);
      expect(events.shownStatus).to.equal(null);
    });

    it("that is the end settles the blocking commands that still wait for a connection", async () => {
      const waiting = [get("a"), get("b")];
      client[PARTS] = { leases: { close: () => waiting } };
      events.onStatus("end", undefined);
      expect(waiting.map((one) => endingOf(one).error?.message)).to.deep.equal([
        "Connection is closed.",
        "Connection is closed.",
      ]);
      await tick();
    });
  });

  it("lets the cluster take what has not reached a link, and ends the rest", () => {
    const taken: unknown[] = [];
    const takeover: Takeover = {
      takesOver: ({ args }) => args[0] === "a",
      takeOver: (commands, error) => void taken.push(commands, error.message),
      madeWhole: (commands) => commands,
    };
    const [one, other] = [get("a"), get("b")];
    expect(events.takeover).to.equal(null);
    events.supervisor = {};
    expect(events.takeover).to.equal(null);
    events.supervisor = { takeover };
    expect(events.takeover).to.equal(takeover);
    events.settleWaiting([one, other]);
    expect(taken).to.deep.equal([[one], "Connection is closed."]);
    expect([endingOf(one).times, endingOf(other).times]).to.deep.equal([0, 1]);
    one.fail(new Error("the test is over"));
  });

  it("traces errors alone, and tells the cluster of everything that has a name", () => {
    events.supervisor = { onNamedError: tell("supervisor") };
    const [error, busy] = [new Error("no"), new Error("busy")];
    events.onNamedError("error", error);
    events.onNamedError("busy", busy);
    expect(told).to.deep.equal([
      ["supervisor", "error", error],
      ["traced error", error],
      ["error", error],
      ["supervisor", "busy", busy],
      ["busy", busy],
    ]);
  });

  it("throws what listeners throw where nobody's work is unwound", async () => {
    const thrown = await uncaughtDuring(async () => {
      for (const event of ["error", "select", "gap", "moved", "push:x", "monitor", "message", "ready"]) {
        client.on(event, () => {
          throw new Error(event);
        });
      }
      events.onNamedError("error", new Error("no"));
      events.onSelect(1);
      events.onGap({} as never);
      events.onShardLost(Buffer.from("c"));
      events.onOtherPush("x", []);
      events.onMonitorLine("no line");
      events.onMessage({
        kind: "message",
        text: (part) => ["", "c", "m"][part] as string,
        value: () => null,
      });
      events.onStatus("ready", undefined);
      told.push(["behind them"]);
    });
    expect(thrown).to.deep.equal([
      ...["error", "gap", "message", "monitor", "moved", "push:x", "ready", "select"],
    ]);
    expect(told).to.deep.include(["behind them"]);
  });

  it("tells what else the connection says, the cluster first", () => {
    build();
    const supervisor: LinkSupervisor = { onMessage: tell("supervisor"), onShardLost: tell("supervisor") };
    events.supervisor = supervisor;
    client.on("message", tell("message")).on("messageBuffer", tell("bytes")).on("push:x", tell("push"));
    const bytes = Buffer.from("c");
    const message: Message = {
      kind: "message",
      text: (part) => ["", "c", "m"][part] as string,
      value: () => bytes,
    };
    events.onSelect(3);
    events.onGap({ lostMs: 5 } as never);
    events.onShardLost(bytes);
    events.onOtherPush("x", ["x", "1"]);
    events.onMessage(message);
    expect(told).to.deep.equal([
      ["select", 3],
      ["gap", { lostMs: 5 }],
      ["supervisor", bytes],
      ["moved"],
      ["tracker heard", "x", ["x", "1"]],
      ["push", ["x", "1"]],
      ["supervisor", message],
      ["message", "c", "m"],
      ["bytes", bytes, bytes],
    ]);
  });

  it("works without a cluster and while its client is being built", async () => {
    const bytes = Buffer.from("c");
    for (const supervisor of [null, {}]) {
      events.supervisor = supervisor;
      events.onShardLost(bytes);
      events.onOtherPush("x", []);
      events.onMessage({ kind: "message" } as Message);
      events.onNamedError("busy", new Error("busy"));
      events.onStatus("end", undefined);
      await tick();
    }
    expect(told.map(([word]) => word)).to.deep.equal([
      ...["moved", "busy", "traced", "end"],
      ...["moved", "busy", "traced", "end"],
    ]);
  });

  describe("an error reply", () => {
    it("to a client of one server says what it probably means", () => {
      const error = new ReplyError("MOVED 1 1.2.3.4:1");
      expect(events.redirects(get("a"), error)).to.equal(false);
      expect(error.message).to.equal("MOVED 1 1.2.3.4:1");
      expect(error.hint).to.contain("new Cluster");
    });

    it("is the cluster's affair, which says whether it sends the command elsewhere", () => {
      for (const answer of [true, false]) {
        events.supervisor = { onReplyError: () => answer };
        expect(events.redirects(get("a"), new ReplyError("MOVED 1 a:1"))).to.equal(answer);
      }
      const error = new ReplyError("MOVED 1 a:1");
      events.supervisor = {};
      expect([events.redirects(get("a"), error), error.message]).to.deep.equal([false, "MOVED 1 a:1"]);
    });
  });

  it("asks the function for credentials, with the address and the reason, and takes those of the options otherwise", async () => {
    client.options = { password: "pw" };
    expect(events.credentials()).to.equal(client.options);
    const requests: unknown[] = [];
    const credentials = (request: unknown) => {
      requests.push(request);
      return { password: "new" };
    };
    client.options = { credentials, host: "h", port: 1, tls: {} };
    expect(await events.credentials("refused")).to.deep.equal({ password: "new" });
    client.options = { credentials, host: "h", port: 1, sentinels: [] };
    await events.credentials();
    expect(requests).to.deep.equal([
      { host: "h", port: 1, tls: true, reason: "refused" },
      { tls: false, reason: "connect" },
    ]);
  });

  describe("a line of MONITOR", () => {
    function parsed(line: string): unknown[] {
      let heard: unknown[] = [];
      client.removeAllListeners("monitor").on("monitor", (...words: unknown[]) => {
        heard = words;
      });
      events.onMonitorLine(line);
      return heard;
    }

    it("is its time, arguments, source and database", () => {
      const lines: [string, unknown[]][] = [
        ['1.5 [0 127.0.0.1:6] "get" "a b"', ["1.5", ["get", "a b"], "127.0.0.1:6", "0"]],
        ['2.5 [12 lua] "set" "k" ""', ["2.5", ["set", "k", ""], "lua", "12"]],
        ['3.5 [0 unix:/tmp/a b] "ping"', ["3.5", ["ping"], "unix:/tmp/a b", "0"]],
        ['4.5 [0 ::1:6] "set" "] \\"x\\" [" "y"', ["4.5", ["set", '] "x" [', "y"], "::1:6", "0"]],
        ['5.5 [0 a:1] "set" "back\\\\" "slash\\n"', ["5.5", ["set", "back\\\\", "slash\\n"], "a:1", "0"]],
        ["6.5 [0 a:1]", ["6.5", [], "a:1", "0"]],
      ];
      for (const [line, expected] of lines) expect(parsed(line), line).to.deep.equal(expected);
    });

    it("that is none is told as it is", () => {
      for (const line of ["OK", "", "1.5 0 a:1 x"]) expect(parsed(line)).to.deep.equal([line, [], "", ""]);
    });
  });
});
