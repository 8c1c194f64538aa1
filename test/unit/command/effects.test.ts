/** The effect of commands on a cache: in doubt a command may change everything. */

import { expect } from "chai";
import { specOf } from "../../../src/command/command-table";
import { Effect, effectOf } from "../../../src/command/effects";

function effectOfWords(words: string): Effect {
  const [name = "", ...args] = words.split(" ");
  return effectOf(specOf(name), args);
}

describe("effectOf", () => {
  const expected: Record<string, readonly string[]> = {
    Cacheable: ["get k", "mget a b", "hgetall k", "zrange k 0 1", "exists k", "getbit k 1"],
    None: [
      "ttl k",
      "srandmember k",
      "scan 0",
      "publish c m",
      "spublish c m",
      "ping",
      "info",
      "client getname",
      "cluster slots",
      "echo x",
      "time",
      "cluster",
      "client",
    ],
    Keys: [
      "set k v",
      "del a b",
      "getex k",
      "eval s 1 k",
      "sort k store d",
      "xreadgroup group g c streams k >",
    ],
    Everything: [
      "flushall",
      "flushdb",
      "swapdb 0 1",
      "debug sleep 0",
      "replicaof no one",
      "failover",
      "cluster setslot 1 stable",
      "cluster FLUSHSLOTS",
      "module.unknown k",
      "eval s 0",
      "fcall f 0 k",
      "set",
    ],
    Session: ["select 1", "auth p", "hello", "hello 3"],
    Tracking: ["reset", "monitor", "hello 2", "client tracking off", "CLIENT TRACKING on"],
    Multi: ["multi"],
    Exec: ["exec"],
    Discard: ["discard"],
  };

  for (const [name, calls] of Object.entries(expected)) {
    it(`is ${name} for ${calls[0]} and its like`, () => {
      for (const words of calls) {
        const found = Object.entries(Effect).find(([, value]) => value === effectOfWords(words))?.[0];
        expect(found, words).to.equal(name);
      }
    });
  }
});
