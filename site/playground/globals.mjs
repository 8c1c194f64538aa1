/** What Node.js has as globals and a browser has not. */

import { Buffer } from "buffer";

let nextId = 1;
const waiting = new Map();
const channel = new MessageChannel();

channel.port1.onmessage = ({ data: id }) => {
  const work = waiting.get(id);
  waiting.delete(id);
  work?.();
};

/** The next turn of the event loop: a message to itself, which no browser delays as it does timers. */
export function setImmediate(work, ...args) {
  const id = nextId++;
  waiting.set(id, () => work(...args));
  channel.port2.postMessage(id);
  return { id, ref: () => {}, unref: () => {}, hasRef: () => true };
}

export function clearImmediate(immediate) {
  waiting.delete(immediate?.id);
}

/** Timers are objects in Node.js. */
class Timer {
  constructor(id) {
    this.id = id;
  }
  ref() {
    return this;
  }
  unref() {
    return this;
  }
  hasRef() {
    return true;
  }
  refresh() {
    return this;
  }
  [Symbol.toPrimitive]() {
    return this.id;
  }
}

const own = {
  setTimeout: self.setTimeout.bind(self),
  setInterval: self.setInterval.bind(self),
  clearTimeout: self.clearTimeout.bind(self),
  clearInterval: self.clearInterval.bind(self),
};
const idOf = (timer) => (timer instanceof Timer ? timer.id : timer);

self.setTimeout = (...args) => new Timer(own.setTimeout(...args));
self.setInterval = (...args) => new Timer(own.setInterval(...args));
self.clearTimeout = (timer) => own.clearTimeout(idOf(timer));
self.clearInterval = (timer) => own.clearInterval(idOf(timer));
self.setImmediate = setImmediate;
self.clearImmediate = clearImmediate;
self.global = self;
self.Buffer = Buffer;
self.process = {
  env: {},
  argv: [],
  pid: 1,
  platform: "browser",
  version: "v20.0.0",
  versions: {},
  execArgv: [],
  nextTick: (work, ...args) => queueMicrotask(() => work(...args)),
  on: () => self.process,
  once: () => self.process,
  off: () => self.process,
  removeListener: () => self.process,
  emitWarning: (warning) => console.warn(String(warning)),
  hrtime: Object.assign(() => [Math.floor(performance.now() / 1000), 0], {
    bigint: () => BigInt(Math.round(performance.now() * 1e6)),
  }),
  memoryUsage: Object.assign(() => ({ rss: 0, heapUsed: 0, heapTotal: 0, external: 0, arrayBuffers: 0 }), {
    rss: () => 0,
  }),
  uptime: () => performance.now() / 1000,
  cwd: () => "/",
};
