/**
 * `sluice/testing/mock`: the client class, wired to a server in memory, for tests of services that
 * make their own clients: `jest.mock("ioredis", () => require("sluice/testing/mock"))`. Clients of
 * one address share a server, as they would elsewhere.
 */

import type { ClusterNode, ClusterOptions } from "../index";
import { Cluster } from "../subpaths/cluster/index";
import { Redis } from "../subpaths/Redis";
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

/** Where a startup node is, in each of its spellings. */
function addressOf(node: ClusterNode | undefined): Address {
  if (typeof node === "number") return { port: node };
  if (typeof node === "object") return node as Address;
  if (node === undefined) return {};
  const { hostname, port } = new URL(node.includes("://") ? node : `redis://${node}`);
  return { ...(hostname === "" ? {} : { host: hostname }), ...(port === "" ? {} : { port: Number(port) }) };
}

/**
 * The cluster client, wired to a cluster in memory: three masters with a replica each, unless `mockServer` was asked
 * for the address of its first startup node before, with other options. Clients whose first startup node is the same
 * share a cluster. Names are not looked up, and `natMap` has nothing to translate.
 */
export class MockCluster extends Cluster {
  constructor(startupNodes: readonly ClusterNode[] = [], options: ClusterOptions = {}) {
    const name = nameOf(addressOf(startupNodes[0]));
    const NodeConnector = memoryConnector((node) => {
      const { port } = node as Address;
      return mockServer(name, { cluster: 3 }).connect(port);
    });
    super(startupNodes, {
      ...options,
      dnsLookup: (address, done) => done(null, address, 4),
      natMap: undefined,
      redisOptions: { ...options.redisOptions, Connector: NodeConnector },
    });
  }
}

/** The client, never connected to anything outside of the process. */
export class MockRedis extends Redis {
  /** As a service finds it that knows only the default export. */
  static readonly Cluster: typeof Cluster = MockCluster as unknown as typeof Cluster;

  constructor(...args: unknown[]) {
    const all: unknown = [...args.filter((arg) => arg !== undefined), { Connector }];
    super(...(all as ConstructorParameters<typeof Redis>));
  }
}

export { MockCluster as Cluster, MockRedis as Redis };
export default MockRedis;
