/**
 * A Redis or Valkey inside the test process: the real protocol, the answers of one server version,
 * and time, randomness and faults under control.
 */

import type { Duplex } from "node:stream";
import type { FaultSwitches } from "./faults/fault-switches";
import { type MemoryConnectorClass, memoryConnector } from "./memory-connector";
import { Engine } from "./server/engine";
import { Listener } from "./server/listener";
import { DEFAULT_VERSION, serverVersion, type VersionName } from "./server/version";
import { ServerState } from "./server-state";

export interface TestServerOptions {
  /** Which server it answers as. Default: "8.2". */
  readonly version?: VersionName;
  /** TCP port on 127.0.0.1; 0 for a free one. Default: 0, or none if there is a `path`. */
  readonly port?: number;
  /** Listens on a unix socket; on a port as well only if that is given. */
  readonly path?: string;
  /** Opens no socket at all; clients connect with `Connector`. Default: true. */
  readonly listen?: boolean;
  /** Password of the default user. Default: none. */
  readonly password?: string;
  /** Seed of everything random. */
  readonly seed?: number;
  /** Parameters as of CONFIG SET. */
  readonly config?: Readonly<Record<string, string>>;
}

/** A state of a server to come back to; see `TestServer.snapshot`. */
export interface ServerSnapshot {
  readonly databases: readonly number[];
  readonly clock: number;
  readonly configuration: Map<string, string>;
}

export class TestServer {
  readonly host = "127.0.0.1";
  /** The unix socket, if there is one. */
  readonly path: string | null;
  private listener: Listener;

  private constructor(
    private readonly engine: Engine,
    private readonly options: TestServerOptions,
  ) {
    this.listener = new Listener(engine);
    this.path = options.path ?? null;
  }

  /**
   * Starts a server.
   * @throws if the version is none that it knows, or the port is taken.
   */
  static async start(options: TestServerOptions = {}): Promise<TestServer> {
    const server = TestServer.make(options);
    await server.listen(options.port);
    return server;
  }

  /** A server at once, without any socket: clients connect with `Connector`. */
  static inMemory(options: TestServerOptions = {}): TestServer {
    return TestServer.make({ ...options, listen: false });
  }

  private static make(options: TestServerOptions): TestServer {
    const engine = new Engine(serverVersion(options.version ?? DEFAULT_VERSION));
    if (options.seed !== undefined) engine.random.seed(options.seed);
    engine.configuration.set(Object.entries(options.config ?? {}));
    const server = new TestServer(engine, options);
    if (options.password !== undefined) {
      engine.configuration.put("requirepass", options.password);
      engine.acl.setDefaultPassword(options.password);
    }
    return server;
  }

  /** TCP port; 0 if it listens on none. */
  get port(): number {
    return this.engine.port;
  }

  get url(): string {
    const { password } = this.options;
    const login = password === undefined ? "" : `:${encodeURIComponent(password)}@`;
    return `redis://${login}${this.host}:${this.port}`;
  }

  /** What goes wrong on command. */
  get faults(): FaultSwitches {
    return this.engine.faults;
  }

  /** The keys and values, read without a command. */
  get state(): ServerState {
    return new ServerState(this.engine, 0);
  }

  /** The state of another database. */
  database(index: number): ServerState {
    return new ServerState(this.engine, index);
  }

  /** How many clients are connected. */
  get connections(): number {
    return this.engine.sessions.size;
  }

  /** A connection in memory: works where no socket may be opened. */
  connect(): Duplex {
    return this.listener.connect();
  }

  /** A class for the option `Connector` of clients, ioredis included: connections in memory. */
  get Connector(): MemoryConnectorClass {
    return memoryConnector(() => this.connect());
  }

  /** The server's clock goes on by so much: keys expire, waiting commands end. */
  advance(milliseconds: number): void {
    const { engine } = this;
    engine.clock.advance(milliseconds);
    engine.alarm.ring();
  }

  /** Everything random begins anew from this number. */
  seed(value: number): void {
    this.engine.random.seed(value);
  }

  /** Removes all keys of all databases. */
  flush(): void {
    for (const database of this.engine.allDatabases) database.flush();
  }

  /** Remembers keys, configuration and clock. Takes microseconds, whatever the number of keys. */
  snapshot(): ServerSnapshot {
    const { engine } = this;
    return {
      databases: engine.allDatabases.map((database) => database.snapshot()),
      clock: engine.clock.position,
      configuration: engine.configuration.entries(),
    };
  }

  /**
   * Goes back to a snapshot; as often as wanted. Takes as long as there are keys that changed.
   * @throws if an older snapshot has been restored meanwhile: this one is gone then.
   */
  restore(snapshot: ServerSnapshot): void {
    const { engine } = this;
    for (const [index, epoch] of snapshot.databases.entries()) {
      if (!engine.database(index).restore(epoch)) {
        throw new Error(
          "This snapshot is gone: an older one was restored after it had been taken. Take a new one.",
        );
      }
    }
    engine.clock.moveTo(snapshot.clock);
    engine.configuration.restore(snapshot.configuration);
  }

  /** Cuts all connections, as a network does; clients may come back at once. */
  disconnectAll(): void {
    this.listener.cutAll();
  }

  /** Cuts all connections and listens no more; `up` ends it. The data stay. */
  async down(): Promise<void> {
    this.engine.alarm.stop();
    await this.listener.close();
  }

  /** Listens again, on the same port. */
  async up(): Promise<void> {
    await this.listen(this.engine.port === 0 ? undefined : this.engine.port);
  }

  /** Ends it. */
  async stop(): Promise<void> {
    await this.down();
    this.engine.scripting.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  private async listen(port: number | undefined): Promise<void> {
    if (this.options.listen === false) return;
    if (port !== undefined || this.path === null) this.engine.port = await this.listener.listen(port ?? 0);
    if (this.path !== null) await this.listener.listenAt(this.path);
  }
}
