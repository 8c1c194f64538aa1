/**
 * Examples for the pages of commands: calls and the replies that the test server gave when the site was built. The
 * calls are those that the tests compare with real servers, and some more for commands with many options.
 */

import { CommandFlag } from "../../src/command/command-spec";
import { Redis } from "../../src/index";
import { COMMAND_CORPUS } from "../../test/support/command-corpus";
import { TestServer } from "../../testing/src/test-server";
import type { Table } from "../commands/table-rows";

interface Call {
  readonly name: string;
  readonly args: readonly string[];
}

interface Example extends Call {
  readonly reply: unknown;
}

/** Calls that show options, in the order in which they run, on an empty database. */
const MORE = `
set session:1 token EX 60
set lock:1 owner NX PX 30000
set lock:1 other NX
set session:1 next KEEPTTL GET
get session:1
zadd board 10 ada 20 grace
zadd board GT CH 15 ada
zadd board INCR 5 grace
zadd board NX 1 ada
zrange board 0 -1 WITHSCORES
zrange board 0 -1 REV
zscore board ada
zrank board ada
hset user:1 name Ada visits 1
hget user:1 name
hgetall user:1
hincrby user:1 visits 1
expire user:1 3600
expire user:1 60 GT
keys user:*
pexpire user:1 60000
pexpireat user:1 9999999999000
sadd tags red green
sismember tags red
smembers tags
scard tags
srandmember tags 0
rpush queue a b c
lrange queue 0 -1
llen queue
lpop queue
incr visits
incrby visits 10
mset item:1 tea item:2 milk
mget item:1 item:2
exists item:1
del item:1
watch board
unwatch
select 1
select 0
move tags 1
swapdb 0 1
swapdb 0 1
hpexpire user:1 60000 FIELDS 1 visits
hexpireat user:1 9999999999 FIELDS 1 visits
`;

/** Most examples of one page; more are no easier to read. */
const MOST_EXAMPLES = 5;
/** Longest reply that is shown. */
const MOST_CHARACTERS = 160;

function callsOf(lines: string): Call[] {
  return lines
    .trim()
    .split("\n")
    .map((line) => {
      const [name = "", ...args] = line.split(" ");
      return { name, args };
    });
}

function asCode(reply: unknown): string {
  return JSON.stringify(reply, (_, value: unknown) =>
    Buffer.isBuffer(value) ? `<${value.length} bytes>` : value,
  );
}

function asArgument(text: string): string {
  return /^-?(?:0|[1-9]\d{0,14})(?:\.\d+)?$/.test(text) ? text : JSON.stringify(text);
}

function lineOf({ name, args, reply }: Example): string {
  return `await redis.${name}(${args.map(asArgument).join(", ")}); // ${asCode(reply)}`;
}

async function run(redis: Redis, calls: readonly Call[]): Promise<Example[]> {
  const examples: Example[] = [];
  for (const { name, args } of calls) {
    const reply = await redis.call(name, ...args).catch((error: Error) => error);
    if (!(reply instanceof Error)) examples.push({ name, args, reply });
  }
  return examples;
}

/** The last write to the key of `example` before it, which explains its reply. */
function preparation(all: readonly Example[], example: Example, reads: ReadonlySet<string>): Example[] {
  const [key] = example.args;
  const place = all.indexOf(example);
  const before = all.findLast(
    ({ name, args }, index) => index < place && args[0] === key && name !== example.name && !reads.has(name),
  );
  return before === undefined ? [] : [before];
}

/** @returns the code of the examples of each command, by its name in lower case */
export async function commandExamples({ methods }: Table): Promise<Map<string, string>> {
  const reads = new Set(
    methods.filter(({ flags }) => (flags & CommandFlag.Readonly) !== 0).map(({ name }) => name),
  );
  // Over TCP: a blocking command in memory does not keep the process alive.
  const server = await TestServer.start();
  const redis = new Redis(server.port);
  const byName = new Map<string, string>();
  try {
    const calls = COMMAND_CORPUS.filter(({ isVolatile }) => !isVolatile).map(({ word, args }) => ({
      name: word,
      args,
    }));
    const recorded = await run(redis, calls);
    await redis.flushall();
    const all = [...(await run(redis, callsOf(MORE))), ...recorded];
    for (const name of new Set(all.map((example) => example.name))) {
      const own = all.filter(
        (example) => example.name === name && asCode(example.reply).length < MOST_CHARACTERS,
      );
      const first = own[0];
      if (first === undefined || !(name in redis)) continue;
      const lines = [...preparation(all, first, reads), ...own.slice(0, MOST_EXAMPLES)].map(lineOf);
      byName.set(name, [...new Set(lines)].join("\n"));
    }
  } finally {
    redis.disconnect();
    await server.stop();
  }
  return byName;
}
