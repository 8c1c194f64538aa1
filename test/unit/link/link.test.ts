/** A link on a scripted connection: moves to another connection, the end after QUIT, the renewal of credentials. */

import { Duplex } from "node:stream";
import { expect } from "chai";
import { waitUntil } from "../../../scripts/servers/wait-until";
import { Batch, BatchKind } from "../../../src/command/batch";
import { Connection } from "../../../src/connection/connection";
import { ConnectionCounts } from "../../../src/connection/connection-counts";
import { AbstractConnector } from "../../../src/link/connector";
import type { ExpiringCredentials } from "../../../src/link/credentials";
import { Link } from "../../../src/link/link";
import { type LinkMover, type MovableLink, NO_MOVER } from "../../../src/link/link-options";
import type { LinkStatus } from "../../../src/link/link-state";
import { RequestParser } from "../../../testing/src/protocol/request-parser";
import { CommandsOfTest } from "../../support/ending";

/** Keeps its requests, and answers the handshake of a server that knows only RESP2, AUTH and QUIT. */
class Peer extends Duplex {
  readonly requests: string[] = [];
  private readonly parser = new RequestParser();

  override _read(): void {}

  /** A server that was told to quit closes the connection. */
  override _final(done: () => void): void {
    done();
    setImmediate(() => this.destroy());
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.parser.push(chunk);
    for (let words = this.parser.next(); words !== null; words = this.parser.next()) {
      const [name = ""] = words;
      this.requests.push(name === "auth" ? words.join(" ") : name);
      if (name === "hello") this.push("-ERR unknown command 'HELLO'\r\n");
      if (name === "auth" || name === "quit") this.push("+OK\r\n");
    }
    done();
  }
}

class PeerConnector extends AbstractConnector {
  constructor(private readonly peer: Peer) {
    super(20);
  }

  override connect(): Promise<Duplex> {
    return Promise.resolve(this.peer);
  }
}

/** Holds the commands of a link from the first moment at which the link can be moved. */
class EagerMover implements LinkMover {
  readonly isRelaxed = false;
  readonly unanswered = 0;
  isHolding = false;
  isPlanned = false;

  constructor(private readonly link: MovableLink) {}

  readonly open: LinkMover["open"] = (options, deps) => new Connection(options, deps);

  look(): void {
    if (!this.isPlanned || this.isHolding || this.link.isBound) return;
    this.isHolding = true;
    this.link.resume();
  }

  readonly onEstablished = NO_MOVER.onEstablished;
  readonly onLost = NO_MOVER.onLost;
  readonly stop = NO_MOVER.stop;
}

describe("Link", () => {
  const commands = new CommandsOfTest();
  let peer: Peer;
  let link: Link;
  let mover: EagerMover;
  let counts: ConnectionCounts;
  let statuses: LinkStatus[];
  let credentials: ExpiringCredentials[];

  beforeEach(() => {
    peer = new Peer();
    counts = new ConnectionCounts();
    statuses = [];
    credentials = [];
    link = new Link(
      { watchdog: { idleMs: 5000 }, disableClientInfo: true, enableReadyCheck: false, disconnectTimeout: 20 },
      new PeerConnector(peer),
      {
        identity: { name: "test", version: "1" },
        credentials: () => credentials.shift() ?? {},
        listener: {
          onStatus: (status) => void statuses.push(status),
          onNamedError() {},
          onSelect() {},
          onGap() {},
          onNameRefused() {},
        },
        messages: null,
        tracer: null,
        counts,
        redirects: () => false,
        takeover: null,
        makeMover: (movable) => {
          mover = new EagerMover(movable);
          return mover;
        },
      },
    );
  });

  async function connect(): Promise<void> {
    await link.connect();
    peer.requests.length = 0;
  }

  afterEach(async () => {
    commands.failAll();
    link.disconnect();
    peer.destroy();
    await ended();
  });

  function ended(): Promise<void> {
    return waitUntil(() => Promise.resolve(link.status === "end"), { timeoutMs: 5000, what: "the end" });
  }

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
    await connect();
    const listener = (): boolean => link.connection?.silenceListener != null;
    expect(listener()).to.equal(true);
    link.relax(true);
    expect(listener()).to.equal(false);
    link.relax(false);
    expect(listener()).to.equal(true);
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
});
