/**
 * The modules of Node.js that the client and the test server import and a browser does not have: the part of each that
 * a client in memory uses. A call that needs a network throws.
 */

import { sha1 } from "@noble/hashes/legacy.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { Duplex } from "readable-stream";

function noNetwork() {
  throw new Error("A page has no network. The server of the playground is in memory.");
}

// net, tls, dns
export class Socket extends Duplex {}
export class TLSSocket extends Socket {}
export class Server {}
export const connect = noNetwork;
export const createServer = noNetwork;
export const createConnection = noNetwork;
export const createSecureContext = noNetwork;
// Only TLS uses it.
export const isDeepStrictEqual = noNetwork;
export const lookup = noNetwork;
export const resolveSrv = noNetwork;
export const isIPv4 = (text) => /^\d{1,3}(\.\d{1,3}){3}$/.test(text);
export const isIPv6 = (text) => text.includes(":") && /^[\da-f:.%]+$/i.test(text);
export const isIP = (text) => (isIPv4(text) ? 4 : isIPv6(text) ? 6 : 0);
/** Contains no address, because a client in memory has none. */
export class BlockList {
  addSubnet() {}
  addAddress() {}
  check() {
    return false;
  }
}

// crypto
export const randomBytes = (size) => Buffer.from(self.crypto.getRandomValues(new Uint8Array(size)));
const HASHES = { sha1, sha256 };
export function createHash(name) {
  const hash = HASHES[name].create();
  return {
    update(data) {
      hash.update(typeof data === "string" ? new TextEncoder().encode(data) : data);
      return this;
    },
    digest: (encoding) => Buffer.from(hash.digest()).toString(encoding),
  };
}

// diagnostics_channel
class Channel {
  subscribers = new Set();
  get hasSubscribers() {
    return this.subscribers.size > 0;
  }
  publish(message) {
    for (const subscriber of this.subscribers) subscriber(message);
  }
  runStores(message, work) {
    this.publish(message);
    return work();
  }
}
const channels = new Map();
export function channel(name) {
  let found = channels.get(name);
  if (found === undefined) channels.set(name, (found = new Channel()));
  return found;
}
export const subscribe = (name, subscriber) => void channel(name).subscribers.add(subscriber);
export const unsubscribe = (name, subscriber) => channel(name).subscribers.delete(subscriber);
export function tracingChannel(name) {
  const part = (word) => channel(`tracing:${name}:${word}`);
  return {
    start: part("start"),
    end: part("end"),
    asyncStart: part("asyncStart"),
    asyncEnd: part("asyncEnd"),
    error: part("error"),
  };
}

// async_hooks
export class AsyncResource {
  runInAsyncScope(work, self, ...args) {
    return work.apply(self, args);
  }
  emitDestroy() {}
}
export class AsyncLocalStorage {
  store = undefined;
  getStore() {
    return this.store;
  }
  run(store, work) {
    const before = this.store;
    this.store = store;
    try {
      return work();
    } finally {
      this.store = before;
    }
  }
  enterWith(store) {
    this.store = store;
  }
  disable() {}
}

// perf_hooks, timers, util
export const performance = self.performance;
export const { setTimeout, setInterval, clearTimeout, clearInterval, setImmediate, clearImmediate } = self;
export const isNativeError = (value) => value instanceof Error;
export const isAnyArrayBuffer = (value) =>
  /^\[object (?:Shared)?ArrayBuffer\]$/.test(Object.prototype.toString.call(value));

/** Short forms of the values that replies are made of. */
export function inspect(value, depth = 4) {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value !== "object" || value === null) return String(value);
  if (value instanceof Error) return `[${value.name}: ${value.message}]`;
  if (Buffer.isBuffer(value)) return `<Buffer ${value.toString("hex")}>`;
  if (depth === 0) return Array.isArray(value) ? "[Array]" : "[Object]";
  const inner = (one) => inspect(one, depth - 1);
  if (Array.isArray(value)) return `[${value.map(inner).join(", ")}]`;
  if (value instanceof Map)
    return `Map {${[...value].map(([key, one]) => `${inner(key)} => ${inner(one)}`).join(", ")}}`;
  if (value instanceof Set) return `Set {${[...value].map(inner).join(", ")}}`;
  const name = Object.getPrototypeOf(value)?.constructor?.name ?? "Object";
  if (name !== "Object") return `[${name}]`;
  return `{${Object.entries(value)
    .map(([key, one]) => `${key}: ${inner(one)}`)
    .join(", ")}}`;
}

// vm: another way to a module that could not be imported; here every module is in the file.
export function runInThisContext() {
  throw new Error("A page has no loader of Node.js");
}
