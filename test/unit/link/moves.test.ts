/** When a link may be moved to another connection: never between two commands that the server must see on one. */

import { Duplex } from "node:stream";
import { expect } from "chai";
import { waitUntil } from "../../../scripts/servers/wait-until";
import { Batch, BatchKind } from "../../../src/command/batch";
import { Connection } from "../../../src/connection/connection";
import { ConnectionCounts } from "../../../src/connection/connection-counts";
import { AbstractConnector } from "../../../src/link/connector";
import { Link } from "../../../src/link/link";
import { type LinkMover, type MovableLink, NO_MOVER } from "../../../src/link/link-options";
import { RequestParser } from "../../../testing/src/protocol/request-parser";
import { CommandsOfTest } from "../../support/ending";

/** Keeps the names of its requests, and answers the handshake of a server that knows only RESP2. */
class Peer extends Duplex {
  readonly requests: string[] = [];
  private readonly parser = new RequestParser();

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.parser.push(chunk);
    for (let words = this.parser.next(); words !== null; words = this.parser.next()) {
      const [name = ""] = words;
      this.requests.push(name);
      if (name === "hello") this.push("-ERR unknown command 'HELLO'\r\n");
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
    if (this.isPlanned && !this.link.isBound) this.isHolding = true;
  }

  readonly onEstablished = NO_MOVER.onEstablished;
  readonly onLost = NO_MOVER.onLost;
  readonly stop = NO_MOVER.stop;
}

describe("a link that is about to be moved", () => {
  const commands = new CommandsOfTest();
  let peer: Peer;
  let link: Link;
  let mover: EagerMover;

  beforeEach(async () => {
    peer = new Peer();
    link = new Link(
      { watchdog: false, disableClientInfo: true, enableReadyCheck: false, disconnectTimeout: 20 },
      new PeerConnector(peer),
      {
        identity: { name: "test", version: "1" },
        credentials: () => ({}),
        listener: { onStatus() {}, onNamedError() {}, onSelect() {}, onGap() {} },
        messages: null,
        tracer: null,
        counts: new ConnectionCounts(),
        redirects: () => false,
        takeover: null,
        makeMover: (movable) => {
          mover = new EagerMover(movable);
          return mover;
        },
      },
    );
    await link.connect();
    peer.requests.length = 0;
  });

  afterEach(async () => {
    commands.failAll();
    link.disconnect();
    peer.destroy();
    await waitUntil(() => Promise.resolve(link.status === "end"), { timeoutMs: 5000, what: "the end" });
  });

  function dispatch(kind: BatchKind, ...calls: string[][]): void {
    const batch = new Batch(kind, 0, null);
    const made = calls.map(([name = "", ...args]) => commands.make(name, ...args));
    for (const command of made) batch.add(command);
    mover.isPlanned = true;
    link.dispatchBatch(made);
  }

  async function expectRequests(names: string[]): Promise<void> {
    await waitUntil(() => Promise.resolve(peer.requests.length >= names.length), {
      timeoutMs: 5000,
      what: "the requests",
    });
    expect(peer.requests).to.deep.equal(names);
    expect(mover.isHolding, "the move begins after the batch").to.equal(true);
  }

  it("keeps a transaction on one connection, although a member is inspected", async () => {
    dispatch(BatchKind.Transaction, ["multi"], ["blpop", "list", "1"], ["set", "key", "1"], ["exec"]);
    await expectRequests(["multi", "blpop", "set", "exec"]);
  });

  it("keeps ASKING and its command on one connection", async () => {
    dispatch(BatchKind.Automatic, ["blpop", "list", "1"], ["asking"], ["get", "key"]);
    await expectRequests(["blpop", "asking", "get"]);
  });
});
