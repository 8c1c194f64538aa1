/**
 * The types are those of the client that is installed as "sluice", or else under the name "ioredis". An import that does
 * not resolve is `any`, which `Client` recognizes: only `any` makes `1 & Own` a type that 0 belongs to.
 */

// @ts-ignore: does not resolve where the client is installed as "sluice"
import type { Cluster as AliasedCluster, Redis as AliasedRedis } from "ioredis";
// @ts-ignore: does not resolve where the client is installed as "ioredis"
import type { Cluster as OwnCluster, Redis as OwnRedis } from "sluice";

type Client<Own, Aliased> = [0] extends [1 & Own] ? Aliased : Own;

/** The client class, connected to a server in memory. */
export declare const MockRedis: Client<typeof OwnRedis, typeof AliasedRedis>;
export type MockRedis = Client<OwnRedis, AliasedRedis>;
/** The cluster client, connected to a cluster in memory. */
export declare const MockCluster: Client<typeof OwnCluster, typeof AliasedCluster>;
export type MockCluster = Client<OwnCluster, AliasedCluster>;

export { mockServer, resetMocks } from "./built/mock-of.js";
export { MockCluster as Cluster, MockRedis as Redis, MockRedis as default };
