/** What a link makes of the outcome of a connection: its database, a refusal, a replacement, code that runs meanwhile. */

import { expect } from "chai";
import { waitUntil } from "../../../scripts/servers/wait-until";
import { Command, CommandState } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { Connection } from "../../../src/connection/connection";
import { SubscriptionKind } from "../../../src/connection/subscriptions";
import { Link } from "../../../src/link/link";
import type { LinkOptions } from "../../../src/link/link-options";
import { CommandsOfTest, Ending } from "../../support/ending";
import { linkDeps, Peer, PeerConnector } from "./link-peer";

describe("Link", () => {
  const commands = new CommandsOfTest();
  let link: Link;
  let peers: Peer[];
  /** What a server sends before any request. */
  let greeting: string;
  let selected: number[];
  let reported: string[];

  beforeEach(() => make());

  function make(options: Partial<LinkOptions> = {}): void {
    [peers, selected, reported, greeting] = [[], [], [], ""];
    link = new Link(
      {
        watchdog: { idleMs: 5000 },
        disableClientInfo: true,
        enableReadyCheck: false,
        disconnectTimeout: 20,
        retryStrategy: () => 0,
        ...options,
      },
      new PeerConnector(nextPeer),
      linkDeps({
        onNamedError: (_name, error) => void reported.push(error.message),
        onSelect: (db) => void selected.push(db),
      }),
    );
  }

  function nextPeer(): Peer {
    const peer = new Peer();
    peer.answers["select"] = "+OK\r\n";
    if (greeting !== "") peer.push(greeting);
    peers.push(peer);
    return peer;
  }

  afterEach(async () => {
    commands.failAll();
    link.disconnect();
    for (const one of peers) one.destroy();
    if (link.status !== "wait") await becomes("end");
  });

  const until = (isSo: () => boolean, what: string): Promise<void> =>
    waitUntil(() => Promise.resolve(isSo()), { timeoutMs: 5000, what });

  function becomes(status: Link["status"]): Promise<void> {
    return until(() => link.status === status, status);
  }

  function issue(name: string, ...args: string[]): Command {
    const command = commands.make(name, ...args);
    link.dispatch(command);
    return command;
  }

  const errorOf = ({ completion }: Command): string | undefined => (completion as Ending).error?.message;

  it("tells which database a new connection has, unless it is that of the options", async () => {
    await link.connect();
    expect([selected, link.status]).to.deep.equal([[], "ready"]);
    const select = issue("select", "2");
    await until(() => select.isSettled, "the reply");
    expect(selected).to.deep.equal([2]);
    peers[0]?.destroy();
    await until(() => peers.length === 2 && link.status === "ready", "the next connection");
    expect(selected.at(-1)).to.equal(2);
    expect(selected.length).to.be.above(1);
  });

  for (const [what, said, isFailed] of [
    ["fails", "DENIED Redis is running in protected mode", true],
    ["keeps", "ERR max number of clients reached", false],
  ] as const) {
    it(`${what} waiting commands when a server says ${said}`, async () => {
      make({ retryStrategy: () => 60_000 });
      greeting = `-${said}\r\n`;
      const waiting = issue("get", "k");
      await becomes("reconnecting");
      expect(reported).to.deep.equal([said]);
      expect([waiting.isSettled, errorOf(waiting)]).to.deep.equal([isFailed, isFailed ? said : undefined]);
      expect([link.status, link.offline.length]).to.deep.equal(["reconnecting", isFailed ? 0 : 1]);
    });
  }

  it("ends the commands that would wait when code closes the client on the failure of another one", async () => {
    make({ retryPolicy: "reads-only" });
    await link.connect();
    const ending = new Ending();
    const written = new Command(specOf("incr"), ["k"], false, {
      fulfil() {},
      reject(command, error) {
        link.disconnect();
        ending.reject(command, error);
      },
    });
    commands.add(written);
    link.dispatch(written);
    const read = issue("get", "k");
    await until(() => peers[0]?.requests.includes("get") === true, "the requests");
    peers[0]?.destroy();
    await becomes("end");
    expect([ending.times, read.isSettled, link.offline.length]).to.deep.equal([1, true, 0]);
    expect(peers, "no attempt follows").to.have.length(1);
  });

  it("keeps a command that could not be sent for the next connection, unless it is closing", async () => {
    make({ retryStrategy: () => 0 });
    await link.connect();
    link.reset(new Error("lost"));
    const kept = commands.make("get", "k");
    link.queueUnsent(kept);
    expect([kept.isSettled, link.offline.length]).to.deep.equal([false, 1]);
    await until(() => peers[1]?.requests.includes("get") === true, "the next connection");
    link.disconnect();
    const late = commands.make("get", "k");
    link.queueUnsent(late);
    expect(errorOf(late)).to.equal("Connection is closed.");
  });

  it("goes on with the connection that replaces its own", async () => {
    await link.connect();
    const { connection: former } = link;
    const { subscriptions } = link;
    let isOpen = false;
    const life = { onOpen: () => (isOpen = true), onClose() {} };
    const others = { replies: null, messages: null, tracer: null };
    const next = new Connection(link.options, { life, subscriptions, ...others });
    next.attach(nextPeer());
    await until(() => isOpen, "the socket");
    next.markReady();
    link.replaceConnection(next, 3, {});
    expect(link.connection).to.equal(next);
    link.resume();
    expect([former?.silenceListener === null, next.silenceListener === null]).to.deep.equal([true, false]);
    issue("get", "k");
    await until(() => peers[1]?.requests.includes("get") === true, "the request");
    expect(peers[1]?.requests, "for the database of the session").to.deep.equal(["select", "get"]);
    former?.destroy();
  });

  it("limits no silence after maintenance if the options limit none", async () => {
    await link.connect();
    link.relax(true);
    link.relax(false);
    expect(link.connection?.socketTimeout).to.equal(null);
  });

  it("counts what waits before a command while there is no connection", () => {
    make({ retryStrategy: () => 60_000 });
    greeting = "-ERR max number of clients reached\r\n";
    const waiting = { state: CommandState.Queued, extra: null };
    for (const key of ["a", "b"]) issue("get", key);
    expect(link.connection?.queue.length).to.equal(0);
    return becomes("reconnecting").then(() => {
      expect(link.connection).to.equal(null);
      expect(link.positionOf(waiting)).to.include({ commandsAhead: 1, bytesAhead: 0 });
    });
  });

  it("connects again after a loss as at first when it was connected behind a QUIT", async () => {
    await link.connect();
    issue("quit");
    await becomes("end");
    await link.connect();
    const kept = issue("get", "k");
    expect(kept.isSettled, "it takes commands again").to.equal(false);
    peers[1]?.destroy();
    await until(() => peers.length === 3 && link.status === "ready", "the next connection");
    await until(() => peers[2]?.requests.includes("get") === true, "the request");
  });

  for (const autoResubscribe of [true, false]) {
    it(`${autoResubscribe ? "restores" : "forgets"} subscriptions after a loss with autoResubscribe: ${autoResubscribe}`, async () => {
      make({ autoResubscribe });
      await link.connect();
      link.subscriptions.add(SubscriptionKind.Channel, Buffer.from("news"));
      peers[0]?.destroy();
      await until(() => peers.length === 2 && link.status === "ready", "the next connection");
      expect(link.subscriptions.isEmpty).to.equal(!autoResubscribe);
      const isRestored = (): boolean => peers[1]?.requests.includes("subscribe") === true;
      if (autoResubscribe) await until(isRestored, "the request");
      else expect(isRestored()).to.equal(false);
    });
  }
});
