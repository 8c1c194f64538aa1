/**
 * `sluice/testing/mock`: the client class, wired to a server in memory, for tests of services that
 * make their own clients: `jest.mock("ioredis", () => require("sluice/testing/mock"))`. Clients of
 * one address share a server, as they would elsewhere.
 */

import { Redis } from "../index";
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

/** The client, never connected to anything outside of the process. */
export class MockRedis extends Redis {
  constructor(...args: unknown[]) {
    const all: unknown = [...args.filter((arg) => arg !== undefined), { Connector }];
    super(...(all as ConstructorParameters<typeof Redis>));
  }
}

/** Clusters are not mocked: a test gets a clear error, not a connection to somewhere. */
export class MockCluster {
  constructor() {
    throw new Error("sluice/testing/mock has no Cluster yet; use the cluster of a real server in this test");
  }
}

export { MockCluster as Cluster, MockRedis as Redis };
export default MockRedis;
