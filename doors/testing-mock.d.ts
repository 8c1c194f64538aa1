import { Redis as Client, Cluster as ClusterClient } from "../built/index.js";

/** The cluster client, connected to a cluster in memory. */
export declare const MockCluster: typeof ClusterClient;
export type MockCluster = ClusterClient;
/** The client class, connected to a server in memory. */
export declare const MockRedis: typeof Client;
export type MockRedis = Client;

export { mockServer, resetMocks } from "sluice-testing/mock-of";
export { MockCluster as Cluster, MockRedis as Redis, MockRedis as default };
