/**
 * New clients, each with its own connection, created as their documentation shows. The first command is
 * issued before the connection is open, if the client allows that.
 */

import fs from "node:fs";
import { ioredisClassOf, type SideName } from "./all-sides";
import type { IoredisLike } from "./ioredis-side";
import type { Address, Target } from "./side";

export interface FreshClient {
  get(key: string): Promise<unknown>;
  /** Resolves when the connection is closed, or at once where the client does not tell. */
  leave(): Promise<void>;
}

interface NodeRedisClient {
  connect(): Promise<unknown>;
  get(key: string): Promise<unknown>;
  on(event: "error", listener: () => void): unknown;
  close(): Promise<void>;
}

type Tls = NonNullable<Target["tls"]>;

/** @param tls The server's TLS port, if the connection is to use it. */
export function freshClient(side: SideName, address: Address, tls?: Tls): FreshClient {
  switch (side) {
    case "redis":
    case "redis-nt":
      return freshNodeRedis(address, tls, side === "redis-nt");
    case "glide":
      return freshGlide(address, tls);
    default:
      return freshIoredis(side, address, tls);
  }
}

/** Read once: the file is no part of a connection. */
const authorities = new Map<string, Buffer>();

function authorityOf({ caFile }: Tls): Buffer {
  const known = authorities.get(caFile) ?? fs.readFileSync(caFile);
  authorities.set(caFile, known);
  return known;
}

function freshIoredis(side: SideName, { host, port }: Address, tls: Tls | undefined): FreshClient {
  const Redis = ioredisClassOf(side);
  const line = tls === undefined ? { port } : { port: tls.port, tls: { ca: authorityOf(tls) } };
  const client = new Redis({ host, ...line });
  client.on("error", ignore);
  return {
    get: (key) => client.get(key),
    leave: () => ended(client),
  };
}

function ended(client: IoredisLike): Promise<void> {
  return new Promise((resolve) => {
    client.once("end", resolve);
    client.disconnect();
  });
}

function freshNodeRedis({ host, port }: Address, tls: Tls | undefined, isUnlimited: boolean): FreshClient {
  const { createClient } = require("redis") as { createClient(options: unknown): NodeRedisClient };
  const line = tls === undefined ? { port } : { port: tls.port, tls: true, ca: authorityOf(tls) };
  const commandOptions = isUnlimited ? { commandOptions: { timeout: undefined } } : {};
  const client = createClient({ socket: { host, ...line }, ...commandOptions });
  client.on("error", ignore);
  client.connect().catch(ignore);
  return {
    get: (key) => client.get(key),
    leave: () => client.close(),
  };
}

function freshGlide({ host, port }: Address, tls: Tls | undefined): FreshClient {
  const { GlideClient } = require("@valkey/valkey-glide") as typeof import("@valkey/valkey-glide");
  const line = { addresses: [{ host, port: tls?.port ?? port }], useTLS: tls !== undefined };
  const advancedConfiguration =
    tls === undefined ? {} : { tlsAdvancedConfiguration: { rootCertificates: authorityOf(tls) } };
  const client = GlideClient.createClient({ ...line, advancedConfiguration });
  client.catch(ignore);
  return {
    get: async (key) => (await client).get(key),
    leave: async () => (await client).close(),
  };
}

function ignore(): void {}
