/** The other end of the connections of a link, without a server. */

import { Duplex } from "node:stream";
import { waitUntil } from "../../../scripts/servers/wait-until";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { ConnectionCounts } from "../../../src/connection/connection-counts";
import { AbstractConnector, type ErrorEmitter } from "../../../src/link/connector";
import type { Link } from "../../../src/link/link";
import type { LinkDeps } from "../../../src/link/link-options";
import type { LinkStatus } from "../../../src/link/link-state";
import { RequestParser } from "../../../testing/src/protocol/request-parser";
import { CommandsOfTest, Ending } from "../../support/ending";

/** Keeps its requests, and answers the handshake of a server that knows only RESP2, AUTH and QUIT. */
export class Peer extends Duplex {
  readonly requests: string[] = [];
  /** The server closes each connection at its first request. */
  isRefusing = false;
  /** Answers to other commands, by their names. */
  readonly answers: Record<string, string> = {};
  private readonly parser = new RequestParser();

  override _read(): void {}

  /** A server that was told to quit closes the connection. */
  override _final(done: () => void): void {
    done();
    setImmediate(() => this.destroy());
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    if (this.isRefusing) {
      this.destroy();
      return;
    }
    this.parser.push(chunk);
    for (let words = this.parser.next(); words !== null; words = this.parser.next()) {
      const [name = ""] = words;
      this.requests.push(name === "auth" ? words.join(" ") : name);
      if (name === "hello") this.push("-ERR unknown command 'HELLO'\r\n");
      if (name === "auth" || name === "quit" || name === "monitor") this.push("+OK\r\n");
      if (name === "info") this.push("$13\r\nrole:master\r\n\r\n");
      const answer = this.answers[name];
      if (answer !== undefined) this.push(answer);
    }
    done();
  }
}

export class PeerConnector extends AbstractConnector {
  /** @param next Makes the other end of a connection. */
  constructor(private readonly next: () => Peer) {
    super(20);
  }

  override async connect(_emitError?: ErrorEmitter): Promise<Duplex> {
    return this.next();
  }
}

/** What a link of a single server needs, without credentials, messages and a tracer. */
export function linkDeps(listener: Partial<LinkDeps["listener"]>): LinkDeps {
  return {
    credentials: () => ({}),
    listener: {
      onStatus() {},
      onNamedError() {},
      onSelect() {},
      onGap() {},
      onNameRefused() {},
      ...listener,
    },
    messages: null,
    tracer: null,
    counts: new ConnectionCounts(),
    redirects: () => false,
    takeover: null,
  };
}

/** Calls on the link of a test, and the end of it. */
export function linkCalls(linkNow: () => Link) {
  const commands = new CommandsOfTest();

  function becomes(status: LinkStatus): Promise<void> {
    return waitUntil(() => Promise.resolve(linkNow().status === status), { timeoutMs: 5000, what: status });
  }

  /** One that has never connected may stay as it is. */
  function ended(): Promise<void> {
    return linkNow().status === "wait" ? Promise.resolve() : becomes("end");
  }

  /** A command, and how it ends. */
  function call(name: string, ...args: string[]): Ending {
    const ending = new Ending();
    const command = new Command(specOf(name), args, false, ending);
    commands.add(command);
    linkNow().dispatch(command);
    return ending;
  }

  async function close(peers: readonly Peer[]): Promise<void> {
    commands.failAll();
    linkNow().disconnect();
    for (const one of peers) one.destroy();
    await ended();
  }

  return { commands, becomes, ended, call, close };
}
