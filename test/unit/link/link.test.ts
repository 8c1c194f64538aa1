/** A link on scripted connections: moves to another one, losses, the end after QUIT, the renewal of credentials. */

import type { Duplex } from "node:stream";
import { expect } from "chai";
import { waitUntil } from "../../../scripts/servers/wait-until";
import { Batch, BatchKind } from "../../../src/command/batch";
import { Command, CommandState } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { WatchUser } from "../../../src/command/watch-user";
import { Connection } from "../../../src/connection/connection";
import { ConnectionCounts } from "../../../src/connection/connection-counts";
import {
  ConnectionClosedError,
  MaxRetriesPerRequestError,
  MonitorModeError,
  OfflineQueueDisabledError,
  SelectOnClusterError,
  WatchLostError,
} from "../../../src/errors";
import type { AbstractConnector, ErrorEmitter } from "../../../src/link/connector";
import type { ExpiringCredentials } from "../../../src/link/credentials";
import { Link } from "../../../src/link/link";
import type { LinkMover, LinkOptions, Takeover } from "../../../src/link/link-options";
import type { LinkStatus } from "../../../src/link/link-state";
import { Ending } from "../../support/ending";
import { linkCalls, Peer, PeerConnector } from "./link-peer";

/** Takes a server only at the second look. */
class ChoosyConnector extends PeerConnector {
  readonly looks: (string | undefined)[] = [];

  override check({ role }: Record<string, string>): boolean {
    return this.looks.push(role) > 1;
  }
}

/** Holds the commands of a link from the first moment at which the link can be moved. */
class EagerMover implements LinkMover {
  readonly isRelaxed = false;
  readonly unanswered = 0;
  isHolding = false;
  isPlanned = false;

  constructor(private readonly link: Link) {}

  readonly open: LinkMover["open"] = (options, deps) => new Connection(options, deps);

  look(): void {
    if (!this.isPlanned || this.isHolding || this.link.isBound) return;
    this.isHolding = true;
    this.link.resume();
  }

  onEstablished(): void {}
  onLost(): void {}
  stop(): void {}
}

describe("Link", () => {
  const { commands, becomes, ended, call, close } = linkCalls(() => link);
  let peer: Peer;
  let link: Link;
  let mover: EagerMover;
  let counts: ConnectionCounts;
  let statuses: LinkStatus[];
  let credentials: ExpiringCredentials[];
  let peers: Peer[];
  let isRefused: boolean;
  let reported: Error[];
  let gaps: { readonly channels: readonly string[] }[];

  beforeEach(() => make());

  function nextPeer(): Peer {
    peer = new Peer();
    peer.isRefusing = isRefused;
    peers.push(peer);
    return peer;
  }

  function make(
    options: Partial<LinkOptions> = {},
    connector?: AbstractConnector,
    takeover?: Takeover,
  ): void {
    peers = [];
    reported = [];
    gaps = [];
    isRefused = false;
    counts = new ConnectionCounts();
    statuses = [];
    credentials = [];
    link = new Link(
      {
        watchdog: { idleMs: 5000 },
        disableClientInfo: true,
        enableReadyCheck: false,
        disconnectTimeout: 20,
        retryStrategy: () => 0,
        ...options,
      },
      connector ?? new PeerConnector(nextPeer),
      {
        credentials: () => credentials.shift() ?? {},
        listener: {
          onStatus: (status) => void statuses.push(status),
          onNamedError: (_name, error) => void reported.push(error),
          onSelect() {},
          onGap: (gap) => void gaps.push(gap),
          onNameRefused() {},
        },
        messages: null,
        tracer: null,
        counts,
        redirects: () => false,
        takeover: takeover ?? null,
        makeMover: (movable) => {
          mover = new EagerMover(movable);
          return mover;
        },
      },
    );
  }

  async function connect(): Promise<void> {
    await link.connect();
    peer.requests.length = 0;
  }

  afterEach(() => close(peers));

  function dispatch(kind: BatchKind, ...calls: string[][]): void {
    const batch = new Batch(kind, 0, null);
    const made = calls.map(([name = "", ...args]) => commands.make(name, ...args));
    for (const command of made) batch.add(command);
    mover.isPlanned = true;
    link.dispatchBatch(made);
  }

  function requested(count: number): Promise<void> {
    return waitUntil(() => Promise.resolve(peer.requests.length >= count), {
      timeoutMs: 5000,
      what: "the requests",
    });
  }

  async function expectRequests(names: string[]): Promise<void> {
    await requested(names.length);
    expect(peer.requests).to.deep.equal(names);
    expect(mover.isHolding, "the move begins after the batch").to.equal(true);
  }

  it("keeps a transaction on one connection while a move is planned, although a member is inspected", async () => {
    await connect();
    dispatch(BatchKind.Transaction, ["multi"], ["blpop", "list", "1"], ["set", "key", "1"], ["exec"]);
    await expectRequests(["multi", "blpop", "set", "exec"]);
  });

  it("keeps ASKING and its command on one connection while a move is planned", async () => {
    await connect();
    dispatch(BatchKind.Automatic, ["blpop", "list", "1"], ["asking"], ["get", "key"]);
    await expectRequests(["blpop", "asking", "get"]);
  });

  it("sends again what a replaced connection has left, and keeps what waits", async () => {
    await connect();
    const replaced = link.makeConnection();
    const [left, waits] = [commands.make("get", "left"), commands.make("set", "waits", "1")];
    replaced.dispatch(left);
    mover.isPlanned = true;
    link.resume();
    link.dispatch(waits);
    link.takeBack(replaced);
    expect([left.isSettled, waits.isSettled, link.offline.length]).to.deep.equal([false, false, 2]);
    mover.isPlanned = false;
    mover.isHolding = false;
    link.resume();
    await requested(2);
    expect(peer.requests).to.deep.equal(["get", "set"]);
  });

  it("ends what a replaced connection has left after the link has ended", async () => {
    await connect();
    const replaced = link.makeConnection();
    const left = commands.make("get", "left");
    replaced.dispatch(left);
    link.disconnect();
    await ended();
    link.takeBack(replaced);
    expect([left.isSettled, link.offline.length]).to.deep.equal([true, 0]);
  });

  it("ends after QUIT without a new attempt, and counts no lost connection", async () => {
    await connect();
    link.dispatch(commands.make("quit"));
    await ended();
    expect(peer.requests).to.deep.equal(["quit"]);
    expect([statuses.slice(-2), counts.lost, counts.attempts]).to.deep.equal([["close", "end"], 0, 1]);
  });

  it("doubts no silence while maintenance runs", async () => {
    make({ socketTimeout: 60_000 });
    await connect();
    const isLimited = (): boolean => link.connection?.socketTimeout != null;
    expect(isLimited()).to.equal(true);
    const listener = (): boolean => link.connection?.silenceListener != null;
    expect(listener()).to.equal(true);
    link.relax(true);
    expect([listener(), isLimited()]).to.deep.equal([false, false]);
    link.relax(false);
    expect([listener(), isLimited()]).to.deep.equal([true, true]);
  });

  it("sends what waits for a PING when maintenance begins", async () => {
    make({ watchdog: { idleMs: 10 } });
    await connect();
    await new Promise((resolve) => setTimeout(resolve, 30));
    call("get", "a");
    await requested(1);
    expect(peer.requests).to.deep.equal(["ping"]);
    link.relax(true);
    await requested(2);
    expect(peer.requests).to.deep.equal(["ping", "get"]);
  });

  it("keeps with each command of a batch the database that it was issued for", async () => {
    await connect();
    const before = commands.make("get", "key");
    link.dispatchBatch([before]);
    link.dispatch(commands.make("select", "1"));
    const after = [commands.make("get", "key"), commands.make("get", "key")];
    link.dispatchBatch(after);
    expect([before.db, ...after.map(({ db }) => db)]).to.deep.equal([0, 1, 1]);
  });

  it("renews credentials on the connection before they expire", async () => {
    credentials = [{ password: "old", expiresAt: Date.now() + 50 }, { password: "new" }];
    await connect();
    await requested(1);
    expect(peer.requests).to.deep.equal(["auth new"]);
  });

  it("connects again after a loss and sends unanswered commands again, in order", async () => {
    await connect();
    call("get", "a");
    call("set", "b", "1");
    await requested(2);
    peer.destroy();
    await waitUntil(() => Promise.resolve(peers.length === 2), { timeoutMs: 5000, what: "an attempt" });
    call("get", "c");
    await becomes("ready");
    await waitUntil(() => Promise.resolve(peer.requests.at(-1) === "get"), { timeoutMs: 5000, what: "get" });
    expect(peers.length).to.equal(2);
    expect(peer.requests.slice(-3)).to.deep.equal(["get", "set", "get"]);
    expect([counts.lost, counts.attempts, counts.resent]).to.deep.equal([1, 2, 2]);
  });

  it("connects again to find the server that its connector wants", async () => {
    const connector = new ChoosyConnector(nextPeer);
    make({ enableReadyCheck: true }, connector);
    link.connect().catch(() => {});
    await becomes("ready");
    expect([connector.looks, peers.length, counts.opened]).to.deep.equal([["master", "master"], 2, 1]);
  });

  for (const isReconnect of [false, true]) {
    it(`is not ready on a connection that its connector closes in the check, reconnect: ${isReconnect}`, async () => {
      const connector = new PeerConnector(nextPeer);
      connector.check = () => {
        if (peers.length === 1) link.disconnect(isReconnect);
        return true;
      };
      make({ enableReadyCheck: true }, connector);
      link.connect().catch(() => {});
      await becomes(isReconnect ? "ready" : "end");
      const then = isReconnect ? ["reconnecting", "connecting", "connect", "ready"] : ["end"];
      expect(statuses).to.deep.equal(["connecting", "connect", "close", ...then]);
      expect(reported).to.deep.equal([]);
    });
  }

  /** The connection is lost after this reply, and the link begins another one. */
  async function loseConnection(after: Ending): Promise<void> {
    await waitUntil(() => Promise.resolve(after.times === 1), { timeoutMs: 5000, what: "the reply" });
    peer.destroy();
    await waitUntil(() => Promise.resolve(peers.length === 2), { timeoutMs: 5000, what: "an attempt" });
  }

  /** The keys of a WATCH are no longer guarded: the connection that has answered it is lost. */
  async function loseWatch(): Promise<void> {
    const watch = call("watch", "key");
    await requested(1);
    peer.push("+OK\r\n");
    await loseConnection(watch);
    await becomes("ready");
    peer.requests.length = 0;
  }

  function transaction(user: WatchUser | null = null): Ending[] {
    const batch = new Batch(BatchKind.Transaction, 0, null);
    batch.watchUser = user;
    const words = [["multi"], ["set", "key", "1"], ["exec"]];
    const endings = words.map(() => new Ending());
    const made = words.map(
      ([name = "", ...args], at) => new Command(specOf(name), args, false, endings[at] as Ending),
    );
    for (const command of made) {
      batch.add(command);
      commands.add(command);
    }
    link.dispatchBatch(made);
    return endings;
  }

  it("sends no part of a transaction whose WATCH another user has ended, and the whole next one", async () => {
    await connect();
    const [one, other] = [new WatchUser(null), new WatchUser(null)];
    const watch = commands.make("watch", "key");
    watch.ensureExtra().watchUser = one;
    link.dispatch(watch);
    const unwatch = commands.make("unwatch");
    unwatch.ensureExtra().watchUser = other;
    link.dispatch(unwatch);
    for (const { error } of transaction(one)) expect(error).to.be.instanceOf(WatchLostError);
    transaction(one);
    await requested(5);
    expect(peer.requests).to.deep.equal(["watch", "unwatch", "multi", "set", "exec"]);
  });

  it("sends no part of the transaction that follows a lost WATCH, and the whole next one", async () => {
    await connect();
    await loseWatch();
    for (const { error } of transaction()) expect(error).to.be.instanceOf(WatchLostError);
    const next = transaction();
    await requested(3);
    expect(peer.requests).to.deep.equal(["multi", "set", "exec"]);
    expect(next.map(({ times }) => times)).to.deep.equal([0, 0, 0]);
  });

  it("closes a transaction by hand that follows a lost WATCH with DISCARD, and sends the next one", async () => {
    await connect();
    await loseWatch();
    const multi = call("multi");
    call("set", "key", "1");
    const exec = call("exec");
    expect(exec.error).to.be.instanceOf(WatchLostError);
    expect(multi.error).to.equal(null);
    call("multi");
    expect(call("exec").error, "the guard of the next transaction").to.equal(null);
    await requested(5);
    expect(peer.requests).to.deep.equal(["multi", "set", "discard", "multi", "exec"]);
  });

  it("waits with commands for an EXEC that may have selected another database", async () => {
    await connect();
    for (const words of [["multi"], ["select", "3"], ["exec"]]) call(...(words as [string]));
    const behind = commands.make("get", "key");
    link.dispatch(behind);
    await requested(3);
    expect([link.direct, link.offline.length]).to.deep.equal([null, 1]);
    peer.push("+OK\r\n+QUEUED\r\n*1\r\n+OK\r\n");
    await requested(4);
    expect([behind.db, link.offline.length]).to.deep.equal([3, 0]);
    expect(link.current.agreed, "for the next connection").to.equal(3);
    expect(link.direct).to.equal(link.connection);
  });

  it("keeps the database of the next connection at an EXEC that selects none", async () => {
    await connect();
    const exec = [call("multi"), call("get", "key"), call("exec")];
    await requested(3);
    peer.push("+OK\r\n+QUEUED\r\n*1\r\n$-1\r\n");
    await waitUntil(() => Promise.resolve(exec.every(({ times }) => times === 1)), {
      timeoutMs: 5000,
      what: "EXEC",
    });
    expect(link.current.agreed).to.equal(0);
  });

  it("keeps waiting commands until it is ready, also when another connection resumes it", async () => {
    const waits = call("get", "key");
    link.resume();
    expect([waits.times, link.offline.length]).to.deep.equal([0, 1]);
    await becomes("ready");
    await waitUntil(() => Promise.resolve(peer.requests.at(-1) === "get"), { timeoutMs: 5000, what: "get" });
  });

  it("passes on what its connector reports", async () => {
    class Reporter extends PeerConnector {
      override connect(emitError: ErrorEmitter): Promise<Duplex> {
        emitError("sentinelError", new Error("a Sentinel is down"));
        return super.connect();
      }
    }
    make({}, new Reporter(nextPeer));
    await connect();
    expect(reported.map(({ message }) => message)).to.deep.equal(["a Sentinel is down"]);
  });

  it("reports for how long it may have missed messages", async () => {
    make({ autoResubscribe: true });
    await connect();
    const subscribe = call("subscribe", "news");
    await requested(1);
    peer.push("*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n");
    await loseConnection(subscribe);
    await waitUntil(() => Promise.resolve(peer.requests.includes("subscribe")), {
      timeoutMs: 5000,
      what: "it",
    });
    expect(gaps).to.deep.equal([]);
    peer.push("*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n");
    await waitUntil(() => Promise.resolve(gaps.length > 0), { timeoutMs: 5000, what: "the gap" });
    expect(gaps[0]?.channels).to.deep.equal(["news"]);
  });

  it("ends with the error of its connector, which the waiting commands get", async () => {
    const error = new Error("no address");
    make({}, new PeerConnector(() => expect.fail(error.message)));
    const waits = call("get", "a");
    await becomes("end");
    expect(waits.error?.message).to.equal(error.message);
    expect([reported.map(({ message }) => message), waits.times]).to.deep.equal([[error.message], 1]);
  });

  it("fails waiting commands after their attempts, and goes on connecting", async () => {
    make({ maxRetriesPerRequest: 1 });
    isRefused = true;
    const waits = call("get", "a");
    await waitUntil(() => Promise.resolve(waits.times > 0), { timeoutMs: 5000, what: "the failure" });
    expect(waits.error).to.be.instanceOf(MaxRetriesPerRequestError);
    isRefused = false;
    await becomes("ready");
    expect(counts.attempts).to.be.at.least(3);
  });

  it("fails commands that would have to wait if the option says so", async () => {
    make({ enableOfflineQueue: false });
    const early = call("get", "a");
    expect(early.error).to.be.instanceOf(OfflineQueueDisabledError);
    await becomes("ready");
    expect(call("get", "a").error).to.equal(null);
    expect(link.queue?.length).to.equal(1);
  });

  it("fails commands that come after its end", async () => {
    await connect();
    link.disconnect();
    const atOnce = call("get", "a");
    await ended();
    const batch = [commands.make("get", "a"), commands.make("get", "b")];
    link.dispatchBatch(batch);
    for (const { error } of [atOnce, call("get", "c")]) expect(error).to.be.instanceOf(ConnectionClosedError);
    expect(batch.map(({ isSettled }) => isSettled)).to.deep.equal([true, true]);
  });

  it("only monitors if the option says so", async () => {
    make({ monitor: true });
    link.connect().catch(() => {});
    await becomes("monitoring");
    expect([link.mode, peer.requests.at(-1)]).to.deep.equal(["monitor", "monitor"]);
    expect(call("get", "a").error).to.be.instanceOf(MonitorModeError);
  });

  it("refuses a SELECT of another database on a node of a cluster", async () => {
    const takeover = { takesOver: () => false, takeOver() {}, madeWhole: (all: readonly Command[]) => all };
    make({}, undefined, takeover);
    await connect();
    expect(call("select", "1").error).to.be.instanceOf(SelectOnClusterError);
    expect(call("select", "0").error).to.equal(null);
    await requested(1);
    expect(peer.requests).to.deep.equal(["select"]);
  });

  it("leaves its connection at once for another server", async () => {
    make({ retryStrategy: () => 60_000 });
    await connect();
    const error = new Error("demoted");
    link.restart(error);
    await waitUntil(() => Promise.resolve(peers.length === 2), { timeoutMs: 5000, what: "an attempt" });
    await becomes("ready");
    peer.destroy();
    await becomes("reconnecting");
    expect(link.connection, "the lost one").to.equal(null);
    link.restart(error);
    await becomes("ready");
    expect(reported).to.deep.equal([error, error]);
  });

  it("knows how many commands are before one that waits", async () => {
    await connect();
    const [first, second] = [commands.make("get", "a"), commands.make("get", "b")];
    for (const one of [first, second]) {
      one.ensureExtra();
      link.dispatch(one);
    }
    await requested(2);
    expect([first, second].map((one) => link.positionOf(one).commandsAhead)).to.deep.equal([0, 1]);
    expect(link.positionOf({ state: CommandState.Queued, extra: null }).commandsAhead).to.equal(1);
    expect([link.inFlight, link.isIdle, link.queue?.length]).to.deep.equal([2, false, 2]);
    peer.push("+1\r\n+2\r\n");
    await waitUntil(() => Promise.resolve(link.isIdle), { timeoutMs: 5000, what: "the replies" });
    expect(link.inFlight).to.equal(0);
  });

  it("reports why a server turns it away", async () => {
    const greet = (): Peer => {
      nextPeer().push("-ERR max number of clients reached\r\n");
      return peer;
    };
    make({ retryStrategy: () => null }, new PeerConnector(greet));
    link.connect().catch(() => {});
    await becomes("end");
    expect(reported[0]?.message).to.match(/max number of clients/);
  });
});
