/**
 * Resolves the configured start nodes to addresses. Names are looked up again for each attempt; with the option
 * for SRV records, those are looked up first. Opens no connections.
 */

import type { SrvRecord } from "node:dns";
import { lookup, resolveSrv } from "node:dns";
import { isIP } from "node:net";
import { OptionError } from "../errors";
import { addHint, markCertain } from "../util/error-hint";
import { type NodeAddress, nodeKey } from "./node-address";

export interface StartNode {
  readonly host: string;
  readonly port: number;
  readonly options: Readonly<Record<string, unknown>>;
}

export type DNSLookupFunction = (
  hostname: string,
  callback: (error: NodeJS.ErrnoException | null | undefined, address: string, family?: number) => void,
) => void;

export type DNSResolveSrvFunction = (
  hostname: string,
  callback: (error: NodeJS.ErrnoException | null | undefined, records?: SrvRecord[]) => void,
) => void;

export interface DiscoveryOptions {
  readonly useSRVRecords?: boolean | undefined;
  readonly resolveSrv?: DNSResolveSrvFunction | null | undefined;
  readonly dnsLookup?: DNSLookupFunction | null | undefined;
}

export interface Seed {
  readonly address: NodeAddress;
  readonly options: Readonly<Record<string, unknown>>;
}

/** The target of a name; SRV records also contain the port. */
interface Place {
  readonly host: string;
  readonly port: number | null;
}

/** All start nodes in random order. One name that cannot be resolved fails the attempt. */
export async function findSeeds(nodes: readonly StartNode[], options: DiscoveryOptions): Promise<Seed[]> {
  if (nodes.length === 0) {
    const error = new OptionError("`startupNodes` should contain at least one node.");
    throw markCertain(addHint(error, "Pass the addresses of nodes: `new Cluster([{ host, port }])`."));
  }
  const hosts = new Set(nodes.map(({ host }) => host));
  const locate = options.useSRVRecords ? findBySrv : lookUp;
  const found = Array.from(hosts, async (host) => [host, await locate(host, options)] as const);
  const places = new Map(await Promise.all(found));
  const seeds = new Map<string, Seed>();
  for (const node of nodes) {
    const place = places.get(node.host) as Place;
    const serverName = isIP(node.host) === 0 && place.host !== node.host ? node.host : undefined;
    const address: NodeAddress = { host: place.host, port: place.port ?? node.port, serverName };
    const key = nodeKey(address);
    if (!seeds.has(key)) seeds.set(key, { address, options: node.options });
  }
  return shuffled([...seeds.values()]);
}

export function shuffled<T>(items: readonly T[]): T[] {
  const mixed = [...items];
  for (let index = mixed.length - 1; index > 0; index--) {
    const other = Math.floor(Math.random() * (index + 1));
    [mixed[index], mixed[other]] = [mixed[other] as T, mixed[index] as T];
  }
  return mixed;
}

async function findBySrv(host: string, options: DiscoveryOptions): Promise<Place> {
  const resolve: DNSResolveSrvFunction = options.resolveSrv ?? resolveSrv;
  const records = await new Promise<SrvRecord[]>((done, fail) => {
    resolve(host, (error, list) => (error ? fail(error) : done(list ?? [])));
  });
  let lastError: Error = new Error(
    `No SRV record found for ${host}. Check the name, or remove the option useSRVRecords`,
  );
  for (const record of srvOrder(records)) {
    try {
      return { ...(await lookUp(record.name, options)), port: record.port };
    } catch (error) {
      lastError = error as Error;
    }
  }
  throw lastError;
}

/** By priority, lowest first; within one priority in random order, weighted. */
export function srvOrder(records: readonly SrvRecord[]): SrvRecord[] {
  const order: SrvRecord[] = [];
  for (const priority of [...new Set(records.map((record) => record.priority))].sort((a, b) => a - b)) {
    const group = records.filter((record) => record.priority === priority);
    while (group.length > 0) {
      // Adding 1 gives a record of weight 0 a small chance.
      const total = group.reduce((sum, record) => sum + record.weight + 1, 0);
      let ticket = Math.random() * total;
      const index = group.findIndex((record) => (ticket -= record.weight + 1) < 0);
      order.push(...group.splice(index, 1));
    }
  }
  return order;
}

function lookUp(host: string, { dnsLookup }: DiscoveryOptions): Promise<Place> {
  if (isIP(host) !== 0) return Promise.resolve({ host, port: null });
  const resolve: DNSLookupFunction = dnsLookup || lookup;
  return new Promise((done, fail) => {
    resolve(host, (error, address) => (error ? fail(error) : done({ host: address, port: null })));
  });
}
