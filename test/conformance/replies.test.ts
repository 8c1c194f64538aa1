/**
 * Every command of the three servers, called as a method: the reply that data/replies.tsv
 * expects. The file was recorded with SLUICE_RECORD=1 by a client of its own that knows nothing
 * but RESP2; what the legacy mapping promises beyond that (HGETALL as an object) is applied here.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { checkoutDirectory } from "../../scripts/servers/cache-directory";
import { answersAs, findServer, REAL_KINDS, ServerKind } from "../../scripts/servers/find-server";
import { ServerProcess } from "../../scripts/servers/server-process";
import { Redis } from "../../src/index";
import { COMMAND_CORPUS, type CorpusCall } from "../support/command-corpus";
import { closeClient, untilReady } from "../support/matrix";
import { comparable, errorText } from "../support/reply-comparison";
import { serverKinds } from "../support/shared-servers";

const FILE = join(checkoutDirectory(), "test/conformance/data/replies.tsv");
/** The version of the file, by the beginning of its number. */
const RECORDED_REDIS = "7.0.";
const KINDS = process.env.SLUICE_RECORD === "1" ? REAL_KINDS : serverKinds();

/** Commands that the corpus leaves out because they say more about the server than about a reply. */
const FURTHER = `
hset h f 1 g 2
hexpireat h 9999999999 FIELDS 1 f
hpexpire h 100000 FIELDS 1 f
hpexpireat h 9999999999999 FIELDS 1 f
set a 1
pexpire a 100000
move a 1
move a 1
swapdb 0 1
swapdb 0 1
watch a
unwatch
discard
select 0
select 99
readonly
readwrite
asking
save
pfadd hll a
pfdebug ENCODING hll
restore x 0 nonsense
restore-asking x 0 nonsense
migrate 127.0.0.1 1 nope 0 10
failover ABORT
slaveof NO ONE
replicaof NO ONE
auth secret
debug NOSUCH
bgrewriteaof
`;
/** Tested with what they do to a connection or a server: pub/sub, transactions, leaving. */
const ELSEWHERE = new Set(
  "bgsave exec multi pfselftest psubscribe psync punsubscribe quit replconf reset shutdown ssubscribe subscribe sunsubscribe sync unsubscribe".split(
    " ",
  ),
);

function furtherCalls(): CorpusCall[] {
  const lines = FURTHER.trim().split("\n");
  return lines.map((text) => {
    const [word = "", ...args] = text.split(" ");
    return { text, word, args, isVolatile: word === "bgrewriteaof" };
  });
}

const CALLS: readonly CorpusCall[] = [...COMMAND_CORPUS, ...furtherCalls()];

type Expected = Map<string, Partial<Record<ServerKind, unknown>>>;

/** One line a call: kinds, reply as JSON. Calls are told apart by their place. */
function readExpected(): Expected[] {
  const all: Expected[] = CALLS.map(() => new Map());
  for (const line of readFileSync(FILE, "utf8").trimEnd().split("\n")) {
    const [index = "", text = "", kinds = "", reply = ""] = line.split("\t");
    const row = all[Number(index)]?.get(text) ?? {};
    for (const kind of kinds.split(",")) row[kind as ServerKind] = JSON.parse(reply);
    all[Number(index)]?.set(text, row);
  }
  return all;
}

/** The replies of a server as JSON, in the order of the calls, from a client that knows nothing but RESP2. */
async function repliesOf(server: ServerProcess): Promise<string[]> {
  const replies: string[] = [];
  for (const call of CALLS) {
    const { word, args } = call;
    const reply = await server.command(word, ...args).then((value) => comparable(call, value), errorText);
    replies.push(JSON.stringify(reply));
  }
  return replies;
}

async function record(servers: ReadonlyMap<ServerKind, ServerProcess>): Promise<void> {
  const lines: string[] = [];
  const replies = new Map<ServerKind, string[]>();
  for (const [kind, server] of servers) replies.set(kind, await repliesOf(server));
  for (const [index, { text }] of CALLS.entries()) {
    const byReply = new Map<string, ServerKind[]>();
    for (const kind of KINDS) {
      const reply = replies.get(kind)?.[index] ?? "";
      byReply.set(reply, [...(byReply.get(reply) ?? []), kind]);
    }
    for (const [reply, kinds] of byReply) lines.push([index, text, kinds.join(","), reply].join("\t"));
  }
  writeFileSync(FILE, `${lines.join("\n")}\n`);
}

function asObject(flat: unknown): unknown {
  if (!Array.isArray(flat)) return flat;
  const pairs = flat.flatMap((value, i) => (i % 2 === 0 ? [[value, flat[i + 1]] as [string, unknown]] : []));
  return Object.fromEntries(pairs);
}

type Method = (...args: unknown[]) => Promise<unknown>;

function callMethod(redis: Redis, word: string, args: readonly string[]): Promise<unknown> {
  const method = (redis as unknown as Record<string, Method | undefined>)[word];
  return method === undefined ? redis.call(word, ...args) : method.apply(redis, [...args]);
}

/** The replies in the order of the calls. A `redis-server` of a version that the file lacks says itself what to expect. */
async function expectedOf(kind: ServerKind, server: ServerProcess): Promise<unknown[]> {
  if (kind === ServerKind.Redis && !server.binary.version.startsWith(RECORDED_REDIS)) {
    return (await repliesOf(server)).map((reply) => JSON.parse(reply));
  }
  return readExpected().map((row, index) => row.get(CALLS[index]?.text ?? "")?.[answersAs(kind)]);
}

async function empty(server: ServerProcess): Promise<void> {
  await server.command("FLUSHALL");
  await server.command("CONFIG", "RESETSTAT");
}

/** QUIT and the like would end the client; connection state is tested elsewhere. */
const isCalled = (word: string): boolean => !["quit", "reset", "hello", "multi", "exec"].includes(word);

describe("conformance: every command", function () {
  this.timeout(120_000);
  const servers = new Map<ServerKind, ServerProcess>();

  before(async () => {
    for (const kind of KINDS) {
      servers.set(
        kind,
        await ServerProcess.start({
          binary: await findServer(kind),
          config: { hz: 500, "slowlog-log-slower-than": -1 },
        }),
      );
    }
    if (process.env.SLUICE_RECORD === "1") await record(servers);
  });
  after(() => Promise.all([...servers.values()].map((server) => server.stop())));

  for (const kind of KINDS) {
    for (const protocol of [2, 3] as const) {
      for (const enableAutoPipelining of [false, true]) {
        it(`${kind}, protocol ${protocol}, auto-pipelining ${enableAutoPipelining ? "on" : "off"}`, async () => {
          const server = servers.get(kind) as ServerProcess;
          await empty(server);
          const expected = await expectedOf(kind, server);
          await empty(server);
          const redis = new Redis({ port: server.port, protocol, enableAutoPipelining });
          await untilReady(redis);
          const wrong: string[] = [];
          for (const [index, call] of CALLS.entries()) {
            const { word, args, text } = call;
            if (!isCalled(word)) continue;
            const found = await callMethod(redis, word, args).then(
              (value) => comparable(call, value),
              errorText,
            );
            const row = expected[index];
            const wanted = word === "hgetall" ? asObject(row) : row;
            if (JSON.stringify(found) !== JSON.stringify(wanted)) {
              wrong.push(
                `${text}\n  expected ${JSON.stringify(wanted)}\n  found    ${JSON.stringify(found)}`,
              );
            }
          }
          await closeClient(redis);
          expect(wrong.join("\n")).to.equal("");
        });
      }
    }
  }

  it("covers every method that a server at hand knows", async () => {
    const called = new Set(CALLS.map(({ word }) => word));
    const redis = new Redis({ lazyConnect: true });
    const names = redis.getBuiltinCommands();
    const missing: string[] = [];
    for (const name of names) {
      if (called.has(name) || ELSEWHERE.has(name)) continue;
      const isKnown = await Promise.all(
        [...servers.values()].map(async (server) => {
          const [row] = (await server.command("COMMAND", "INFO", name)) as unknown[];
          return row !== null && row !== undefined;
        }),
      );
      if (isKnown.includes(true)) missing.push(name);
    }
    expect(missing).to.deep.equal([]);
  });
});
