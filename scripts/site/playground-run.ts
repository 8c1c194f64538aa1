/**
 * Runs a program that a visitor of the site has written, on a client of the test server, and reports step by
 * step what they exchange. It does not depend on a page: in a browser, a worker passes the steps to the page.
 */

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Duplex } from "node:stream";
import { inspect } from "node:util";
import { Cluster, Redis } from "../../src/index";
import type { FlushContext, PipelineContext } from "../../src/observability/work-channels";
import { memoryConnector } from "../../testing/src/memory-connector";
import { TestServer } from "../../testing/src/test-server";
import { commandsIn, tapped, visibleBytes } from "./tapped-stream";

export interface Settings {
  readonly code: string;
  /** Masters of a cluster; 0 for one server. */
  readonly masters: number;
  readonly isAutomatic: boolean;
  /** In ms: the delay of each reply. */
  readonly roundTripMs: number;
}

/** An event. `atMs` is the time in ms since the program has begun. */
export type Happening = { readonly atMs: number } & (
  | {
      readonly kind: "write";
      /** The port of the server or of the node. */
      readonly port: number;
      readonly bytes: number;
      readonly count: number;
      readonly commands: readonly string[];
      readonly resp: string;
      /** The reason for the write; see the channel `sluice:flush`. */
      readonly cause: string;
    }
  | { readonly kind: "reply"; readonly port: number; readonly bytes: number; readonly resp: string }
  | {
      readonly kind: "batch";
      readonly batch: string;
      readonly size: number;
      readonly nodes: number;
      readonly durationMs: number;
    }
  | { readonly kind: "print"; readonly text: string }
  | { readonly kind: "failed"; readonly text: string }
);

/** The page shows this many commands of a write, and so many bytes of a line. */
const SHOWN_COMMANDS = 50;
const SHOWN_BYTES = 2_000;
const FLUSHED = "tracing:sluice:flush:start";
const BATCH_OVER = "tracing:sluice:pipeline:asyncEnd";

type Tell = (happening: Happening) => void;

class Playground {
  private readonly server: TestServer;
  private readonly client: Redis | Cluster;
  /** By port: what a flush has written so far. */
  private readonly written = new Map<number, Buffer[]>();
  private startMs = 0;
  /** The handshake is no part of the program. */
  private isShown = false;

  constructor(
    private readonly settings: Settings,
    private readonly tell: Tell,
  ) {
    const { masters, isAutomatic } = settings;
    this.server = TestServer.inMemory(masters === 0 ? {} : { cluster: masters, replicas: 0 });
    const Connector = memoryConnector((options) => this.open((options as { port?: number }).port ?? 0));
    const enableAutoPipelining = isAutomatic;
    this.client =
      masters === 0
        ? new Redis({ Connector, enableAutoPipelining })
        : new Cluster(this.server.seeds, { enableAutoPipelining, redisOptions: { Connector } });
  }

  async run(): Promise<void> {
    const program = compile(this.settings.code);
    await this.warmUp();
    subscribe(FLUSHED, this.onFlushed);
    subscribe(BATCH_OVER, this.onBatchOver);
    this.startMs = performance.now();
    this.isShown = true;
    try {
      await program(this.environment());
      await this.rest();
    } catch (error) {
      this.say("failed", [error]);
    }
    this.isShown = false;
  }

  async end(): Promise<void> {
    unsubscribe(FLUSHED, this.onFlushed);
    unsubscribe(BATCH_OVER, this.onBatchOver);
    this.client.on("error", () => {});
    this.client.disconnect();
    await this.server.stop();
  }

  /** All connections are there before the program begins. */
  private async warmUp(): Promise<void> {
    if (this.client instanceof Redis) {
      await this.client.ping();
      return;
    }
    await this.client.ping();
    await Promise.all(this.client.nodes("master").map((node) => node.ping()));
  }

  /** The end of calls that the program has not awaited is seen as well. */
  private rest(): Promise<void> {
    return new Promise((done) => setTimeout(done, 2 * this.settings.roundTripMs + 20));
  }

  private environment(): Environment {
    const print = (...values: unknown[]): void => this.say("print", values);
    return {
      redis: this.client,
      server: this.server,
      console: { log: print, info: print, warn: print, error: print, debug: print },
      sleep: (delayMs: number) => new Promise((done) => setTimeout(done, delayMs)),
    };
  }

  private say(kind: "print" | "failed", values: readonly unknown[]): void {
    const text = values.map((value) => (typeof value === "string" ? value : shown(value))).join(" ");
    this.tell({ kind, text: cut(text), atMs: this.nowMs() });
  }

  private open(port: number): Duplex {
    const tap = {
      wrote: (chunk: Buffer) => {
        const chunks = this.written.get(port);
        if (chunks === undefined) this.written.set(port, [chunk]);
        else chunks.push(chunk);
        // Told at the latest when the run is over, if it was no flush.
        queueMicrotask(() => this.tellWrites("handshake"));
      },
      answered: (chunk: Buffer) => {
        if (!this.isShown) return;
        const resp = cut(visibleBytes(chunk));
        this.tell({ kind: "reply", port, bytes: chunk.length, resp, atMs: this.nowMs() });
      },
    };
    return tapped(this.server.connect(port), tap, this.settings.roundTripMs);
  }

  private tellWrites(cause: string): void {
    for (const [port, chunks] of this.written) {
      this.written.delete(port);
      if (!this.isShown) continue;
      const bytes = Buffer.concat(chunks);
      const commands = commandsIn(bytes);
      this.tell({
        kind: "write",
        port,
        bytes: bytes.length,
        count: commands.length,
        commands: commands.slice(0, SHOWN_COMMANDS).map(cut),
        resp: cut(visibleBytes(bytes)),
        cause,
        atMs: this.nowMs(),
      });
    }
  }

  private readonly onFlushed = (context: unknown): void => {
    this.tellWrites((context as FlushContext).cause);
  };

  private readonly onBatchOver = (context: unknown): void => {
    const { kind, size, nodes = 1, durationMs = 0 } = context as PipelineContext;
    this.tell({ kind: "batch", batch: kind, size, nodes, durationMs, atMs: this.nowMs() });
  };

  private nowMs(): number {
    return Math.max(0, performance.now() - this.startMs);
  }
}

const NAMES = ["redis", "server", "console", "sleep"] as const;
type Environment = Readonly<Record<(typeof NAMES)[number], unknown>>;

/** @throws SyntaxError if it is no program. */
function compile(code: string): (environment: Environment) => Promise<unknown> {
  const AsyncFunction = (async () => {}).constructor as new (
    ...args: string[]
  ) => (...values: unknown[]) => Promise<unknown>;
  // On lines of its own, so that a comment at its end hides nothing.
  const program = new AsyncFunction(...NAMES, `"use strict";\n${code}\n`);
  return (environment) => program(...NAMES.map((name) => environment[name]));
}

function shown(value: unknown): string {
  if (value instanceof Error) {
    const { code } = value as { code?: string };
    return `${value.name}${code === undefined ? "" : ` ${code}`}: ${value.message}`;
  }
  return inspect(value);
}

function cut(text: string): string {
  return text.length <= SHOWN_BYTES ? text : `${text.slice(0, SHOWN_BYTES)} ... (${text.length} characters)`;
}

/** Runs the program to its end; never rejects. */
export async function runProgram(settings: Settings, tell: Tell): Promise<void> {
  let playground: Playground | null = null;
  try {
    playground = new Playground(settings, tell);
    await playground.run();
  } catch (error) {
    tell({ kind: "failed", text: shown(error), atMs: 0 });
  }
  await playground?.end();
}
