/**
 * From what the application gave as start nodes to addresses that can be dialled: names are
 * looked up anew for each attempt, SRV records first where they are asked for. Knows nothing of
 * connections.
 */

import type { SrvRecord } from "node:dns";
import { lookup, resolveSrv } from "node:dns";
import { isIP } from "node:net";
import { type NodeAddress, nodeKey } from "./node-address";

/** One start node with the options that hold for it alone. */
export interface StartNode {
  readonly host: string;
  readonly port: number;
  readonly options: Readonly<Record<string, unknown>>;
}

export type DnsLookup = (
  hostname: string,
  callback: (error: NodeJS.ErrnoException | null | undefined, address: string, family?: number) => void,
) => void;

export type SrvResolver = (
  hostname: string,
  callback: (error: NodeJS.ErrnoException | null | undefined, records?: SrvRecord[]) => void,
) => void;

export interface DiscoveryOptions {
  readonly useSRVRecords?: boolean | undefined;
  readonly resolveSrv?: SrvResolver | null | undefined;
  readonly dnsLookup?: DnsLookup | null | undefined;
}

/** A start node at the address under which it was found. */
export interface Seed {
  readonly address: NodeAddress;
  readonly options: Readonly<Record<string, unknown>>;
}

/** Where a name leads; SRV records tell the port as well. */
interface Place {
  readonly host: string;
  readonly port: number | null;
}

/** All start nodes, in a random order. One name that cannot be found fails the attempt. */
export async function findSeeds(nodes: readonly StartNode[], options: DiscoveryOptions): Promise<Seed[]> {
  const places = new Map<string, Place>();
  const hosts = new Set(nodes.map(({ host }) => host));
  const locate = options.useSRVRecords ? findBySrv : find;
  await Promise.all(Array.from(hosts, async (host) => places.set(host, await locate(host, options))));
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

async function find(host: string, options: DiscoveryOptions): Promise<Place> {
  return { host: await lookUp(host, options), port: null };
}

async function findBySrv(host: string, options: DiscoveryOptions): Promise<Place> {
  const resolve: SrvResolver = options.resolveSrv ?? resolveSrv;
  const records = await new Promise<SrvRecord[]>((done, fail) => {
    resolve(host, (error, list) => (error ? fail(error) : done(list ?? [])));
  });
  let lastError: Error = new Error(`No SRV record found for ${host}`);
  for (const record of srvOrder(records)) {
    try {
      return { host: await lookUp(record.name, options), port: record.port };
    } catch (error) {
      lastError = error as Error;
    }
  }
  throw lastError;
}

/** By priority, lowest first; those of one priority at random, in proportion to their weights. */
export function srvOrder(records: readonly SrvRecord[]): SrvRecord[] {
  const order: SrvRecord[] = [];
  for (const priority of [...new Set(records.map((record) => record.priority))].sort((a, b) => a - b)) {
    const group = records.filter((record) => record.priority === priority);
    while (group.length > 0) {
      // A weight of 0 is rare but not never.
      const total = group.reduce((sum, record) => sum + record.weight + 1, 0);
      let ticket = Math.random() * total;
      let index = group.findIndex((record) => (ticket -= record.weight + 1) < 0);
      if (index < 0) index = group.length - 1;
      order.push(...group.splice(index, 1));
    }
  }
  return order;
}

function lookUp(host: string, options: DiscoveryOptions): Promise<string> {
  if (isIP(host) !== 0) return Promise.resolve(host);
  const { dnsLookup } = options;
  return new Promise((done, fail) => {
    const callback = (error: NodeJS.ErrnoException | null | undefined, address: string): void => {
      if (error) fail(error);
      else done(address);
    };
    if (dnsLookup) dnsLookup(host, callback);
    else lookup(host, callback);
  });
}
