/**
 * A Redis or Valkey inside the test process: the real protocol, the answers of one server version,
 * and time, randomness and faults under control.
 */

import type { Duplex } from "node:stream";
import { checkOptions } from "./check-options";
import type { FaultSwitches } from "./faults/fault-switches";
import type { Database } from "./keyspace/database";
import { type MemoryConnectorClass, memoryConnector } from "./memory-connector";
import { loadMovableKeys } from "./server/command-keys";
import { Engine } from "./server/engine";
import { loadFamilies } from "./server/handlers";
import { Listener } from "./server/listener";
import { DEFAULT_VERSION, serverVersion, type VersionName } from "./server/version";
import { type ServerState, stateOf } from "./server-state";
import type { TestCluster, TestNode } from "./test-cluster";

export interface TestServerOptions {
  /** Which server it answers as. Default: "8.2". */
  readonly version?: VersionName;
  /** TCP port on 127.0.0.1; 0 for a free one. Default: 0, or no port if `path` is given. */
  readonly port?: number;
  /** Listens on a unix socket; on a port as well only if that is given. */
  readonly path?: string;
  /** Opens no socket at all; clients connect with `Connector`. Default: true. */
  readonly listen?: boolean;
  /** Password of the default user. Default: none. */
  readonly password?: string;
  /** Seed of everything random. */
  readonly seed?: number;
  /** A cluster of so many masters, which share the slots. */
  readonly cluster?: number;
  /** Of each master of a cluster. Default: 1. */
  readonly replicas?: number;
  /** Parameters as of CONFIG SET. */
  readonly config?: Readonly<Record<string, string>>;
}

/** A state of a server to come back to; see `TestServer.snapshot`. */
export interface ServerSnapshot {
  readonly databases: readonly number[];
  readonly clock: number;
  readonly configuration: Map<string, string>;
}

const SERVER_OPTIONS: readonly (keyof TestServerOptions)[] = [
  "version",
  "port",
  "path",
  "listen",
  "password",
  "seed",
  "cluster",
  "replicas",
  "config",
];
const MEMORY_PORT = 7_000;

/** Loaded when the first cluster is made. */
function loadCluster(): typeof import("./test-cluster") {
  return require("./test-cluster") as typeof import("./test-cluster");
}

export class TestServer {
  readonly host = "127.0.0.1";
  /** The unix socket, if there is one. */
  readonly path: string | null;
  /** The nodes of a cluster, masters first; empty if it is none. */
  readonly nodes: readonly TestNode[];
  private readonly listener: Listener;
  private readonly engines: readonly Engine[];
  /** The first one, which stands for the server. */
  private readonly engine: Engine;

  private constructor(
    private readonly options: TestServerOptions,
    engines: readonly Engine[],
    private readonly cluster: TestCluster | null,
  ) {
    const [first] = engines;
    if (first === undefined) throw new RangeError("A cluster has one master at least");
    this.engine = first;
    this.engines = engines;
    this.nodes = cluster?.nodes ?? [];
    this.listener = this.nodes[0]?.listener ?? new Listener(first);
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

  /**
   * Loads immediately all modules that are otherwise loaded on first use, including the script interpreter if
   * it is installed. For tests that later replace the file system (mock-fs) or the module loader.
   */
  static async preload(): Promise<void> {
    loadFamilies();
    loadMovableKeys();
    loadCluster();
    await new Engine(serverVersion(DEFAULT_VERSION)).scripting.load().catch(() => {});
  }

  /** A server without any socket, available immediately: clients connect with `Connector`. */
  static inMemory(options: TestServerOptions = {}): TestServer {
    const server = TestServer.make({ ...options, listen: false });
    void server.listen(undefined);
    return server;
  }

  private static make(options: TestServerOptions): TestServer {
    checkOptions("TestServer", options, SERVER_OPTIONS);
    const version = serverVersion(options.version ?? DEFAULT_VERSION);
    const { cluster: masters, replicas = 1 } = options;
    const cluster =
      masters === undefined
        ? null
        : new (loadCluster().TestCluster)(version, {
            masters,
            replicas,
            ...(options.seed === undefined ? {} : { seed: options.seed }),
          });
    const engines = cluster?.nodes.map(({ engine }) => engine) ?? [new Engine(version)];
    for (const engine of engines) TestServer.configure(engine, options);
    return new TestServer(options, engines, cluster);
  }

  private static configure(engine: Engine, { seed, config, password }: TestServerOptions): void {
    if (seed !== undefined) engine.random.seed(seed);
    engine.configuration.set(Object.entries(config ?? {}));
    if (password === undefined) return;
    engine.configuration.put("requirepass", password);
    engine.acl.setDefaultPassword(password);
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

  /** Faults that happen on command. */
  get faults(): FaultSwitches {
    return this.engine.faults;
  }

  /** The keys and values, read without a command. */
  get state(): ServerState {
    const { cluster, engine } = this;
    return cluster === null ? stateOf(engine, 0) : cluster.state;
  }

  /** The state of another database. */
  database(index: number): ServerState {
    return stateOf(this.engine, index);
  }

  /** How many clients are connected. */
  get connections(): number {
    return this.engines.reduce((sum, { sessions }) => sum + sessions.size, 0);
  }

  /** Addresses of the nodes, as a client of a cluster takes them. */
  get seeds(): { host: string; port: number }[] {
    return this.nodes.map(({ host, port }) => ({ host, port }));
  }

  /**
   * The master of a slot, or of a key's.
   * @throws if it is no cluster.
   */
  ownerOf(slotOrKey: number | string): TestNode {
    if (this.cluster === null)
      throw new Error("This server is no cluster; start it with TestServer.start({ cluster: 3 })");
    return this.cluster.ownerOf(slotOrKey);
  }

  /** A connection in memory: works where no socket may be opened. `port` chooses the node of a cluster. */
  connect(port?: number): Duplex {
    const node = this.nodes.find((one) => one.port === port);
    return (node?.listener ?? this.listener).connect();
  }

  /** A class for the option `Connector` of clients, ioredis included: connections in memory. */
  get Connector(): MemoryConnectorClass {
    return memoryConnector((options) => this.connect((options as { port?: number }).port));
  }

  /** The server's clock goes on by so much: keys expire, waiting commands end. */
  advance(milliseconds: number): void {
    this.engine.clock.advance(milliseconds);
    for (const { alarm } of this.engines) alarm.ring();
  }

  /** Everything random begins anew from this number. */
  seed(value: number): void {
    this.engine.random.seed(value);
  }

  /** Removes all keys of all databases. */
  flush(): void {
    for (const database of this.databases) database.flush();
  }

  /** Remembers keys, configuration and clock. Takes microseconds for any number of keys. */
  snapshot(): ServerSnapshot {
    const { engine } = this;
    return {
      databases: this.databases.map((database) => database.snapshot()),
      clock: engine.clock.position,
      configuration: engine.configuration.entries(),
    };
  }

  /**
   * Goes back to a snapshot; as often as wanted. Takes microseconds, however many keys were changed, unless keys
   * with a time of expiry have expired or were dropped since: then it looks at each key once.
   * @throws if an older snapshot has been restored meanwhile: this one is gone then.
   */
  restore(snapshot: ServerSnapshot): void {
    const { engine, databases } = this;
    for (const [index, epoch] of snapshot.databases.entries()) {
      if (databases[index]?.restore(epoch) === false) {
        throw new Error(
          "This snapshot is gone: an older one was restored after it had been taken. Take a new one.",
        );
      }
    }
    engine.clock.moveTo(snapshot.clock);
    engine.configuration.restore(snapshot.configuration);
  }

  /** Cuts all connections, as a network does; clients may reconnect immediately. */
  disconnectAll(): void {
    for (const listener of this.listeners) listener.cutAll();
  }

  /** Cuts all connections and listens no more; `up` ends it. The data stay. */
  async down(): Promise<void> {
    for (const { alarm } of this.engines) alarm.stop();
    await Promise.all(this.listeners.map((listener) => listener.close()));
  }

  /** Listens again, on the same port. */
  async up(): Promise<void> {
    await this.listen(this.engine.port === 0 ? undefined : this.engine.port);
  }

  /** Ends it. */
  async stop(): Promise<void> {
    await this.down();
    for (const engine of this.engines) engine.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Of a cluster those of each shard, once. */
  private get databases(): readonly Database[] {
    return this.cluster?.databases ?? this.engine.allDatabases;
  }

  private get listeners(): readonly Listener[] {
    return this.cluster === null ? [this.listener] : this.nodes.map(({ listener }) => listener);
  }

  private async listen(port: number | undefined): Promise<void> {
    if (this.options.listen === false) {
      // Nodes of a cluster in memory are distinguished by unused port numbers.
      for (const [index, { engine }] of this.nodes.entries()) engine.port = MEMORY_PORT + index;
      return;
    }
    if (this.cluster !== null) {
      await Promise.all(this.nodes.map((node) => node.listen(node.port)));
      return;
    }
    if (port !== undefined || this.path === null) this.engine.port = await this.listener.listen(port ?? 0);
    if (this.path !== null) await this.listener.listenAt(this.path);
  }
}
