/**
 * `sluice-testing/mock-of`: makes the client class of a service one that is wired to a server in memory. The doors
 * `sluice-testing/mock` and `sluice/testing/mock` call it with the client that they find. Clients of one address share a
 * server, as they would elsewhere.
 */

import { memoryConnector } from "./memory-connector";
import { TestServer, type TestServerOptions } from "./test-server";

interface Address {
  readonly host?: string;
  readonly port?: number;
  readonly path?: string;
}

const DEFAULT_ADDRESS = "localhost:6379";
const LOCAL_HOSTS: ReadonlySet<string> = new Set(["127.0.0.1", "::1", "localhost"]);
const servers = new Map<string, TestServer>();

function nameOf({ host = "localhost", port = 6379, path }: Address): string {
  return path ?? `${LOCAL_HOSTS.has(host) ? "localhost" : host}:${port}`;
}

/**
 * The server behind clients of an address ("host:port" or a socket's path): look into it, move its
 * clock, give it faults. Made when it is first asked for; `options` count only then.
 */
export function mockServer(address: string = DEFAULT_ADDRESS, options: TestServerOptions = {}): TestServer {
  let server = servers.get(address);
  if (server === undefined) {
    server = TestServer.inMemory(options);
    servers.set(address, server);
  }
  return server;
}

/** All servers begin anew: no keys, no faults. Clients stay connected. */
export function resetMocks(): void {
  for (const server of servers.values()) {
    server.flush();
    server.faults.clear();
  }
}

const Connector = memoryConnector((options) => mockServer(nameOf(options as Address)).connect());

/** A startup node of a cluster, as the client accepts it. */
type StartupNode = string | number | Address | null | undefined;

/** Where a startup node is, in each of its spellings. */
function addressOf(node: StartupNode): Address {
  if (typeof node === "number") return { port: node };
  if (typeof node === "object" && node !== null) return node;
  if (node === undefined || node === null) return {};
  const { hostname, port } = new URL(node.includes("://") ? node : `redis://${node}`);
  return { ...(hostname === "" ? {} : { host: hostname }), ...(port === "" ? {} : { port: Number(port) }) };
}

type Class = new (...args: never[]) => object;
type AnyClass = new (...args: unknown[]) => object;

/** The mocked class as require() returns it: the class, with these names on it. */
export interface MockNames<R extends Class, C extends Class> {
  readonly default: R;
  readonly Redis: R;
  readonly MockRedis: R;
  readonly Cluster: C;
  readonly MockCluster: C;
  readonly mockServer: typeof mockServer;
  readonly resetMocks: typeof resetMocks;
}

/** One mock for each client class: both doors return the same classes. */
const mocks = new WeakMap<Class, object>();

/**
 * The cluster client, wired to a cluster in memory: three masters with a replica each, unless `mockServer` was asked
 * for the address of its first startup node before, with other options. Clients whose first startup node is the same
 * share a cluster. Names are not looked up, and `natMap` has nothing to translate.
 */
function clusterOf(Cluster: AnyClass): AnyClass {
  return class MockCluster extends Cluster {
    constructor(startupNodes: unknown = [], options: unknown = {}) {
      const name = nameOf(addressOf((startupNodes as readonly StartupNode[])[0]));
      const NodeConnector = memoryConnector((node) => {
        const { port } = node as Address;
        return mockServer(name, { cluster: 3 }).connect(port);
      });
      const { redisOptions, ...others } = options as { readonly redisOptions?: object };
      super(startupNodes, {
        ...others,
        dnsLookup: (address: string, done: (error: null, address: string, family: number) => void) =>
          done(null, address, 4),
        natMap: undefined,
        redisOptions: { ...redisOptions, Connector: NodeConnector },
      });
    }
  };
}

/** The client, never connected to anything outside of the process. */
function clientOf(Redis: AnyClass): AnyClass {
  return class MockRedis extends Redis {
    constructor(...args: unknown[]) {
      super(...args.filter((arg) => arg !== undefined), { Connector });
    }
  };
}

export function mockOf<R extends Class, C extends Class>(Redis: R, Cluster: C): R & MockNames<R, C> {
  let mock = mocks.get(Redis);
  if (mock === undefined) {
    const MockRedis = clientOf(Redis as unknown as AnyClass);
    const MockCluster = clusterOf(Cluster as unknown as AnyClass);
    const names = { default: MockRedis, Redis: MockRedis, MockRedis, Cluster: MockCluster, MockCluster };
    for (const [name, value] of Object.entries({ ...names, mockServer, resetMocks })) {
      Object.defineProperty(MockRedis, name, { value, enumerable: true, configurable: true, writable: true });
    }
    mock = Object.defineProperty(MockRedis, "__esModule", { value: true });
    mocks.set(Redis, mock);
  }
  return mock as unknown as R & MockNames<R, C>;
}
