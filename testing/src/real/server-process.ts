/**
 * One real server as a child process: started on a free port in its own directory, paused, killed, restarted on
 * the same port. It keeps its directory until `stop`, so that its files (cluster configuration, data) exist
 * again after `kill` and `start`.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ConnectionOptions } from "node:tls";
import { AdminConnection, type AdminReply } from "./admin-connection";
import type { Certificates } from "./certificates";
import { freePort } from "./free-port";
import { guardProcess, releaseProcess } from "./orphan-guard";
import type { ServerBinary } from "./server-binary";
import { temporaryDirectory } from "./temporary-directory";

const START_TIMEOUT_MS = 20_000;
const STOP_TIMEOUT_MS = 5_000;
const START_ATTEMPTS = 3;
const POLL_MS = 15;
const REMOVE_ATTEMPTS = 25;

export interface ServerProcessOptions {
  readonly binary: ServerBinary;
  /** Lines of the configuration file, by name; an array gives one line for each element. */
  readonly config?: Readonly<Record<string, string | number | readonly string[]>>;
  /** A fixed port; otherwise a free one is chosen. */
  readonly port?: number;
  /** Listens with TLS only, with these certificates. */
  readonly tls?: Certificates;
  readonly sentinel?: boolean;
  /** Words of the command line behind the configuration file: they win over it. */
  readonly args?: readonly string[];
}

export class ServerProcess {
  readonly host = "127.0.0.1";
  readonly directory = temporaryDirectory();
  readonly unixSocketPath = join(this.directory, "s");
  readonly binary: ServerBinary;
  port = 0;
  private child: ChildProcess | null = null;
  private admin: AdminConnection | null = null;
  private isPaused = false;

  private constructor(private readonly options: ServerProcessOptions) {
    this.binary = options.binary;
  }

  /** Starts a server and waits until it answers. */
  static async start(options: ServerProcessOptions): Promise<ServerProcess> {
    const server = new ServerProcess(options);
    for (let attempt = 1; ; attempt++) {
      server.port = options.port ?? (await freePort());
      try {
        await server.start();
        return server;
      } catch (error) {
        // Another process can take the port between the probe and the start.
        const isLast = options.port !== undefined || attempt === START_ATTEMPTS;
        if (isLast || !server.log().includes("in use")) {
          await server.stop();
          throw error;
        }
      }
    }
  }

  get url(): string {
    return `${this.options.tls === undefined ? "redis" : "rediss"}://${this.host}:${this.port}`;
  }

  /** The option `tls` for a client; undefined if the server listens without TLS. */
  get tls(): ConnectionOptions | undefined {
    return this.options.tls?.clientOptions();
  }

  get pid(): number {
    if (this.child?.pid === undefined) throw new Error("The server is not running");
    return this.child.pid;
  }

  get isRunning(): boolean {
    return this.child !== null;
  }

  /** The log of the server. */
  log(): string {
    try {
      return readFileSync(join(this.directory, "log"), "utf8");
    } catch {
      return "";
    }
  }

  /** Starts it again after `kill` or `shutDown`: same port, same directory. */
  async start(): Promise<void> {
    const configPath = join(this.directory, "server.conf");
    if (!this.options.sentinel || this.log() === "") writeFileSync(configPath, this.configuration());
    const { sentinel, args = [] } = this.options;
    const child = spawn(this.binary.path, [configPath, ...(sentinel ? ["--sentinel"] : []), ...args], {
      cwd: this.directory,
      stdio: "ignore",
    });
    this.child = child;
    this.isPaused = false;
    const pid = child.pid;
    if (pid !== undefined) guardProcess(pid);
    child.once("error", () => this.forget(child));
    child.once("exit", () => {
      if (pid !== undefined) releaseProcess(pid);
      this.forget(child);
    });
    await this.untilReady(child);
  }

  /** Sends one command over a connection of its own; an error reply rejects. */
  async command(...args: (string | number)[]): Promise<AdminReply> {
    // A server that changes its role, or is told to, closes the connections it has.
    const admin = this.admin?.isOpen ? this.admin : await this.connectAdmin();
    this.admin = admin;
    return admin.command(...args);
  }

  /** Closes the connection of `command` until it is used again. */
  hangUp(): void {
    this.admin?.close();
    this.admin = null;
  }

  /** Stops it from running without closing its sockets (SIGSTOP). */
  pause(): void {
    process.kill(this.pid, "SIGSTOP");
    this.isPaused = true;
  }

  resume(): void {
    process.kill(this.pid, "SIGCONT");
    this.isPaused = false;
  }

  /** Ends it immediately (SIGKILL); `start` brings it back. */
  kill(): Promise<void> {
    return this.end("SIGKILL");
  }

  /** Lets it end in order (SIGTERM); `start` brings it back. */
  shutDown(): Promise<void> {
    return this.end("SIGTERM");
  }

  /** Ends it immediately and starts it again, on the same port. */
  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  /** Removes all keys of all databases. */
  async flush(): Promise<void> {
    await this.command("FLUSHALL");
  }

  /** Ends it and removes its directory. */
  async stop(): Promise<void> {
    await this.end("SIGKILL");
    await removeDirectory(this.directory);
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    this.admin?.close();
    this.admin = null;
    const child = this.child;
    if (child === null) return;
    const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    child.kill(signal);
    if (this.isPaused) child.kill("SIGCONT");
    const deadline = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
    await exited;
    clearTimeout(deadline);
  }

  private forget(child: ChildProcess): void {
    if (this.child === child) this.child = null;
  }

  private async connectAdmin(): Promise<AdminConnection> {
    const { tls } = this.options;
    const admin = await AdminConnection.open(
      tls === undefined ? { path: this.unixSocketPath } : { host: this.host, port: this.port },
      tls === undefined ? undefined : tls.clientOptions(),
    );
    const password = this.options.config?.["requirepass"];
    if (typeof password === "string") await admin.command("AUTH", password);
    return admin;
  }

  private async untilReady(child: ChildProcess): Promise<void> {
    const deadline = Date.now() + START_TIMEOUT_MS;
    let lastError: unknown;
    while (this.child === child && Date.now() < deadline) {
      let admin: AdminConnection | null = null;
      try {
        admin = await this.connectAdmin();
        await admin.command("PING");
        this.admin = admin;
        return;
      } catch (error) {
        // It may accept connections and still load its data.
        admin?.close();
        lastError = error;
        await sleep(POLL_MS);
      }
    }
    const reason = this.child === child ? String(lastError) : "it ended";
    throw new Error(`${this.binary.path} did not start (${reason}):\n${this.log().slice(-2_000)}`);
  }

  private configuration(): string {
    const { tls, config = {} } = this.options;
    const lines: Record<string, string | number | readonly string[]> = {
      bind: "127.0.0.1",
      port: tls === undefined ? this.port : 0,
      unixsocket: this.unixSocketPath,
      dir: this.directory,
      logfile: "log",
      ...(this.options.sentinel ? {} : { save: '""', appendonly: "no" }),
      ...(tls === undefined ? {} : { "tls-port": this.port, ...tls.serverConfig() }),
      ...config,
    };
    return Object.entries(lines)
      .flatMap(([name, value]) => [value].flat().map((line) => `${name} ${line}\n`))
      .join("");
  }
}

/** A child that the server forked to save its data may still be writing: files can appear until it ends. */
async function removeDirectory(path: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      rmSync(path, { recursive: true, force: true });
      return;
    } catch (error) {
      if (attempt === REMOVE_ATTEMPTS) throw error;
      await sleep(STOP_TIMEOUT_MS / REMOVE_ATTEMPTS);
    }
  }
}
