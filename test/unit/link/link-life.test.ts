/** A link on scripted connections: what it does when it is told to connect, to leave, to reconnect or to log in. */

import { expect } from "chai";
import { waitUntil } from "../../../scripts/servers/wait-until";
import { Command, CommandState } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { Connection } from "../../../src/connection/connection";
import { SubscriptionKind } from "../../../src/connection/subscriptions";
import { ConnectionClosedError } from "../../../src/errors";
import { Link } from "../../../src/link/link";
import type { LinkMover, LinkOptions, Takeover } from "../../../src/link/link-options";
import type { LinkStatus } from "../../../src/link/link-state";
import { markCertain } from "../../../src/util/error-hint";
import { Ending } from "../../support/ending";
import { linkCalls, linkDeps, Peer, PeerConnector } from "./link-peer";

describe("Link, when it is told to", () => {
  const { commands, becomes, ended, call, close } = linkCalls(() => link);
  let peer: Peer;
  let peers: Peer[];
  let link: Link;
  /** Commands wait for another connection. */
  let isHolding: boolean;
  let statuses: LinkStatus[];
  let onStatus: (status: LinkStatus) => void;
  let onError: () => void;
  let isRefused: boolean;
  let reported: Error[];
  let selected: number[];
  /** What each peer answers to other commands. */
  let answers: Record<string, string>;

  beforeEach(() => make());

  function nextPeer(): Peer {
    peer = new Peer();
    peer.isRefusing = isRefused;
    Object.assign(peer.answers, answers);
    peers.push(peer);
    return peer;
  }

  function make(options: Partial<LinkOptions> = {}, takeover: Takeover | null = null, next = nextPeer): void {
    [peers, reported, statuses, selected, answers] = [[], [], [], [], {}];
    [isRefused, isHolding] = [false, false];
    [onStatus, onError] = [() => {}, () => {}];
    const mover: LinkMover = {
      isRelaxed: false,
      unanswered: 0,
      onEstablished() {},
      onLost() {},
      look() {},
      stop() {},
      open: (settings, deps) => new Connection(settings, deps),
      get isHolding() {
        return isHolding;
      },
    };
    link = new Link(
      {
        disableClientInfo: true,
        enableReadyCheck: false,
        disconnectTimeout: 20,
        retryStrategy: () => 0,
        ...options,
      },
      new PeerConnector(next),
      {
        ...linkDeps({
          onStatus: (status) => {
            statuses.push(status);
            onStatus(status);
          },
          onNamedError: (_name, error) => {
            reported.push(error);
            onError();
          },
          onSelect: (db) => void selected.push(db),
        }),
        takeover,
        makeMover: () => mover,
      },
    );
  }

  async function connect(): Promise<void> {
    await link.connect();
    peer.requests.length = 0;
  }

  afterEach(() => close(peers));

  const until = (isTrue: () => boolean, what: string): Promise<void> =>
    waitUntil(() => Promise.resolve(isTrue()), { timeoutMs: 5000, what });
  const requested = (count: number): Promise<void> =>
    until(() => peer.requests.length >= count, "the requests");

  function hold(isHeld: boolean): void {
    isHolding = isHeld;
    link.resume();
  }

  it("connects again behind a QUIT when it is told to, and reconnects then", async () => {
    await connect();
    call("quit");
    await ended();
    await connect();
    expect(call("get", "a").error).to.equal(null);
    await requested(1);
    peer.destroy();
    await until(() => peers.length === 3, "the third attempt");
    await becomes("ready");
    await until(() => peer.requests.includes("get"), "the command again");
  });

  it("sends a QUIT again that was not written, and ends then", async () => {
    await connect();
    const quit = commands.make("quit");
    link.dispatch(quit);
    expect(link.isLeaving).to.equal(true);
    expect(call("get", "a").error, "behind it").to.be.instanceOf(ConnectionClosedError);
    peer.destroy();
    await ended();
    expect([quit.isSettled, peers.length, peer.requests.at(-1)]).to.deep.equal([true, 2, "quit"]);
  });

  it("begins an attempt when it is told to reconnect before it has connected", async () => {
    link.disconnect(true);
    await becomes("ready");
    expect(statuses).to.deep.equal(["close", "reconnecting", "connecting", "connect", "ready"]);
  });

  it("ends at once when it is told to disconnect before it has connected, or while it waits for an attempt", async () => {
    link.disconnect();
    expect(statuses).to.deep.equal(["close", "end"]);
    link.disconnect();
    link.disconnect(true);
    expect(statuses).to.deep.equal(["close", "end"]);
    make({ retryStrategy: () => 60_000 });
    isRefused = true;
    link.connect().catch(() => {});
    const waits = call("get", "a");
    await becomes("reconnecting");
    link.disconnect(true);
    expect(link.status, "an attempt is planned").to.equal("reconnecting");
    link.disconnect();
    expect([link.status, waits.times]).to.deep.equal(["end", 1]);
    expect(waits.error).to.be.instanceOf(ConnectionClosedError);
  });

  it("fails the attempt that it is told to leave, and begins another one if it is told to", async () => {
    for (const isReconnect of [false, true]) {
      make();
      const failed = link.connect().then(
        () => null,
        (error: Error) => error,
      );
      expect(link.status).to.equal("connecting");
      link.disconnect(isReconnect);
      expect(await failed).to.be.instanceOf(ConnectionClosedError);
      await becomes(isReconnect ? "ready" : "end");
    }
  });

  it("replaces its connection when it is told to, with the commands that are not answered", async () => {
    await connect();
    call("get", "a");
    const first = peer;
    link.disconnect(true);
    expect(link.isWritable).to.equal(false);
    call("set", "b", "1");
    await until(() => peers.length === 2, "an attempt");
    await becomes("ready");
    await until(() => peer.requests.includes("set"), "the commands");
    expect(first.requests).to.deep.equal(["get"]);
    expect(peer.requests.slice(-2)).to.deep.equal(["get", "set"]);
    expect(reported).to.deep.equal([]);
  });

  it("emits no expected error while it is closing, and others still", async () => {
    await connect();
    link.disconnect();
    const cut = Object.assign(new Error("read ECONNRESET"), { syscall: "read" });
    const other = new Error("EMFILE");
    for (const error of [cut, other]) link.onConnectionError(error);
    expect(reported).to.deep.equal([other]);
  });

  it("knows whether it has been ready, and whether an attempt has failed since", async () => {
    const state = (): boolean[] => [link.hasBeenReady, link.hasFailedAttempt];
    expect(state()).to.deep.equal([false, false]);
    isRefused = true;
    link.connect().catch(() => {});
    await until(() => peers.length >= 2, "the second attempt");
    expect(state()).to.deep.equal([false, true]);
    isRefused = false;
    await becomes("ready");
    expect(state()).to.deep.equal([true, false]);
    peer.destroy();
    let failed: boolean | null = null;
    await until(() => {
      if (link.status === "connecting" || link.status === "connect") failed ??= link.hasFailedAttempt;
      return statuses.lastIndexOf("connecting") > statuses.indexOf("ready");
    }, "an attempt");
    expect(failed ?? link.hasFailedAttempt, "the first one behind a loss").to.equal(false);
  });

  it("opens the next connection with the database that was selected, and reports that", async () => {
    make({ db: 2 });
    answers = { select: "+OK\r\n" };
    await link.connect();
    expect([selected, peer.requests.includes("select")], "of the options").to.deep.equal([[], true]);
    call("select", "3");
    await until(() => link.current.agreed === 3, "the reply");
    expect(selected).to.deep.equal([3]);
    peer.destroy();
    await until(() => peers.length === 2, "an attempt");
    await becomes("ready");
    expect(selected).to.deep.equal([3, 3]);
    const next = commands.make("get", "k");
    link.dispatch(next);
    expect(next.db).to.equal(3);
  });

  it("logs in on the present connection, unless that is in a transaction or receives messages", async () => {
    expect(link.authenticate({ password: "pw" }), "not connected").to.equal(null);
    await connect();
    expect(await link.authenticate({ username: "ann", password: "pw" })).to.equal(null);
    expect(await link.authenticate({ password: "pw" })).to.equal(null);
    expect(await link.authenticate({ username: "ann" })).to.equal(null);
    expect(peer.requests).to.deep.equal(["auth ann pw", "auth pw", "auth ann "]);
    call("multi");
    expect(link.authenticate({ password: "pw" }), "MULTI").to.equal(null);
    call("exec");
    expect(link.authenticate({ password: "pw" })).to.not.equal(null);
    link.subscriptions.add(SubscriptionKind.Channel, Buffer.from("news"));
    expect([link.mode, link.authenticate({ password: "pw" })]).to.deep.equal(["subscriber", null]);
  });

  it("receives only messages while a RESP2 connection has subscriptions", async () => {
    await connect();
    link.subscriptions.add(SubscriptionKind.Channel, Buffer.from("news"));
    expect([link.mode, link.direct]).to.deep.equal(["subscriber", null]);
    expect(call("get", "a").error?.message).to.contain("subscriber");
    link.subscriptions.delete(SubscriptionKind.Channel, Buffer.from("news"));
    expect([link.mode, link.direct]).to.deep.equal(["normal", link.connection]);
    link.connection?.setProtocol(3);
    link.subscriptions.add(SubscriptionKind.Channel, Buffer.from("news"));
    expect(link.mode, "RESP3").to.equal("normal");
  });

  it("forgets its subscriptions with a connection if they are not to be restored", async () => {
    for (const autoResubscribe of [false, true]) {
      make({ autoResubscribe });
      answers = { subscribe: "*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n" };
      await connect();
      const subscribe = call("subscribe", "news");
      await until(() => subscribe.times === 1, "the reply");
      peer.destroy();
      await until(() => peers.length === 2, "an attempt");
      await becomes("ready");
      expect(link.subscriptions.isEmpty).to.equal(!autoResubscribe);
      await until(() => peer.requests.includes("subscribe") === autoResubscribe, "the subscription");
    }
  });

  it("knows when the last bytes arrived, also over a former connection", async () => {
    expect(link.lastArrivalMs, "none").to.equal(0);
    await connect();
    const before = link.lastArrivalMs;
    expect(before).to.be.above(0);
    isRefused = true;
    peer.destroy();
    await until(() => peers.length > 1, "an attempt");
    expect(link.lastArrivalMs).to.equal(before);
    isRefused = false;
  });

  it("names all commands without a reply, those that wait last", async () => {
    await connect();
    const [first, second] = [commands.make("get", "a"), commands.make("get", "b")];
    link.dispatch(first);
    await requested(1);
    hold(true);
    link.dispatch(second);
    expect(link.unanswered()).to.deep.equal([first, second]);
    expect([link.isIdle, link.inFlight, link.isBound, link.isWritable]).to.deep.equal([
      false,
      1,
      false,
      false,
    ]);
    const position = link.positionOf({ state: CommandState.Queued, extra: null });
    expect(position).to.deep.equal({ commandsAhead: 1, bytesAhead: 0, server: link.server });
    hold(false);
  });

  it("fails a command that was not written when it is leaving, and keeps one otherwise", async () => {
    await connect();
    const kept = commands.make("get", "a");
    link.queueUnsent(kept);
    expect([kept.isSettled, link.offline.length, link.direct]).to.deep.equal([false, 1, null]);
    link.disconnect();
    const late = commands.make("get", "b");
    link.queueUnsent(late);
    expect([late.isSettled, link.offline.length]).to.deep.equal([true, 1]);
  });

  it("fails waiting commands after a mistake that no attempt mends, as long as it was never ready", async () => {
    const mistaken = (): Error => markCertain(new Error("this is an HTTP port"));
    const waits = call("get", "a");
    const error = mistaken();
    link.onNamedError("error", error);
    expect(waits.error).to.equal(error);
    await becomes("ready");
    hold(true);
    const later = call("get", "b");
    link.onNamedError("error", mistaken());
    expect([later.times, reported.length]).to.deep.equal([0, 2]);
    hold(false);
  });

  it("keeps waiting commands after a bad certificate if its connector may choose another server", async () => {
    const waits = call("get", "a");
    const untrusted = Object.assign(new Error("expired"), { code: "CERT_HAS_EXPIRED" });
    link.onNamedError("error", markCertain(untrusted));
    expect([waits.times, reported.length]).to.deep.equal([0, 1]);
    await becomes("ready");
  });

  it("stays on its connection while that guards keys, and until it is ready", async () => {
    expect(link.isBound, "not connected").to.equal(true);
    await connect();
    expect([link.isBound, link.status, link.isLeaving]).to.deep.equal([false, "ready", false]);
    call("watch", "k");
    expect(link.isBound, "WATCH").to.equal(true);
    call("unwatch");
    expect(link.isBound).to.equal(false);
    link.disconnect();
    expect([link.isBound, link.isLeaving], "leaving").to.deep.equal([true, true]);
  });

  it("does not become ready behind a handshake that it has left", async () => {
    for (const leave of ["disconnect", "connect"] as const) {
      make();
      const failed = link.connect().then(
        () => null,
        (error: Error) => error,
      );
      onStatus = (status) => {
        if (status === "connect") link.disconnect(leave === "connect");
      };
      await until(() => statuses.includes("close"), "the end");
      onStatus = () => {};
      expect(await failed).to.be.instanceOf(ConnectionClosedError);
      expect(statuses.slice(0, 3)).to.deep.equal(["connecting", "connect", "close"]);
      await becomes(leave === "connect" ? "ready" : "end");
    }
  });

  it("tells the commands behind a handshake of its outcome, and of errors of the connection", async () => {
    const told: string[] = [];
    const { current } = link;
    Object.defineProperty(current, "early", { set: () => void told.push("release"), get: () => [] });
    current.onTrouble = ({ message }) => void told.push(message);
    await connect();
    expect(told).to.include("release");
    told.length = 0;
    link.onConnectionError(new Error("cut"));
    peer.destroy();
    await until(() => peers.length === 2, "an attempt");
    expect(told.slice(0, 2)).to.deep.equal(["cut", "release"]);
    await becomes("ready");
  });

  for (const [what, connects] of [
    ["ends", false],
    ["connects", true],
  ] as const) {
    it(`keeps to what its retry strategy does itself: it ${what} once`, async () => {
      const act = (): void => (connects ? void link.connect().catch(() => {}) : link.disconnect());
      let calls = 0;
      make({
        retryStrategy: () => {
          if (calls++ === 0) act();
          return 0;
        },
      });
      await connect();
      statuses.length = 0;
      peer.destroy();
      await until(() => statuses.at(-1) === (connects ? "ready" : "end"), what);
      expect(statuses).to.deep.equal(
        connects ? ["close", "connecting", "connect", "ready"] : ["close", "end"],
      );
      expect(calls).to.equal(1);
    });
  }

  it("ends once if a listener of the error of its connector closes it", async () => {
    make({}, null, () => {
      throw new Error("no address");
    });
    onError = () => link.disconnect();
    link.connect().catch(() => {});
    await becomes("end");
    expect(statuses).to.deep.equal(["connecting", "end"]);
    expect(reported.map(({ message }) => message)).to.deep.equal(["no address"]);
  });

  it("connects once if a caller whose command is lost connects it again", async () => {
    make({ retryPolicy: "at-most-once" });
    await connect();
    const ending = new Ending();
    const { reject } = ending;
    ending.reject = (...how) => {
      reject.apply(ending, how);
      link.connect().catch(() => {});
    };
    const command = new Command(specOf("incr"), ["n"], false, ending);
    commands.add(command);
    link.dispatch(command);
    await requested(1);
    statuses.length = 0;
    peer.destroy();
    await until(() => statuses.at(-1) === "ready", "the next connection");
    expect(statuses).to.deep.equal(["close", "connecting", "connect", "ready"]);
    expect([ending.times, peers.length]).to.deep.equal([1, 2]);
  });
});
