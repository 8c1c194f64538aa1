/**
 * Examples for the pages of commands: calls and the replies that the test server gave when the site was built. The
 * calls are those that the tests compare with real servers, and some more for commands with many options.
 */

import { once } from "node:events";
import { CommandFlag } from "../../src/command/command-spec";
import { CommandTimeoutError, Redis } from "../../src/index";
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
get session:1
set lock:1 owner NX PX 30000
set lock:1 other NX
set session:1 next KEEPTTL GET
zadd board 10 ada 20 grace
zrange board 0 -1 WITHSCORES
zrange board 0 -1 REV
zscore board ada
zrank board ada
zadd board GT CH 15 ada
zadd board INCR 5 grace
zadd board NX 1 ada
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
rpush jobs mail
brpop jobs 1
xadd orders 1-1 item tea
xgroup CREATE orders billing 0
xreadgroup GROUP billing worker-1 STREAMS orders >
xinfo GROUPS orders
xpending orders billing
xack orders billing 1-1
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
/** Most lines of one block, with the calls that prepare the examples. */
const MOST_LINES = 8;
/** Of one call, on the server of this process. */
const TRIAL_TIMEOUT_MS = 50;
const NO_REPLY = "no reply";
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

async function run(redis: Pick<Redis, "call">, calls: readonly Call[]): Promise<Example[]> {
  const examples: Example[] = [];
  for (const { name, args } of calls) {
    const reply = await redis.call(name, ...args).catch((error: Error) => error);
    if (!(reply instanceof Error)) examples.push({ name, args, reply });
  }
  return examples;
}

/**
 * Completes examples by the earlier calls that they need, so that the block has these replies on an empty database.
 */
class SelfContained {
  constructor(
    private readonly redis: Redis,
    private readonly all: readonly Example[],
    /** Commands that prepare nothing. */
    private readonly unable: ReadonlySet<string>,
  ) {}

  /** As many of the examples as fit into a short block. */
  async blockOf(own: readonly Example[]): Promise<readonly Example[]> {
    const most = own.slice(0, MOST_EXAMPLES);
    const choices = [
      ...most.map((_, index) => most.slice(0, most.length - index)),
      ...most.map((one) => [one]),
    ];
    for (const choice of choices) {
      const block = await this.completed(choice);
      if (block !== null && block.length <= MOST_LINES) return block;
    }
    const alone = await run(await this.emptied(), own.slice(0, 1));
    return alone.length > 0 ? alone : most;
  }

  private async completed(own: readonly Example[]): Promise<readonly Example[] | null> {
    let block = this.neededBy(own);
    if (!(await this.hasReplies(block, own))) return null;
    for (const one of block.filter((call) => !own.includes(call))) {
      const shorter = block.filter((call) => call !== one);
      if (await this.hasReplies(shorter, own)) block = shorter;
    }
    return block.length > MOST_LINES ? block : run(await this.emptied(), block);
  }

  /** The examples, and earlier writes that have an argument in common with them or with each other. */
  private neededBy(own: readonly Example[]): readonly Example[] {
    const words = new Set<string>();
    const needed: Example[] = [];
    for (const one of this.all.slice(0, this.all.indexOf(own.at(-1) as Example) + 1).toReversed()) {
      const names = one.args.filter((word) => /^[a-z]/.test(word));
      if (!own.includes(one) && (this.unable.has(one.name) || !names.some((word) => words.has(word))))
        continue;
      for (const word of names) words.add(word);
      needed.unshift(one);
    }
    return needed;
  }

  private async hasReplies(block: readonly Example[], own: readonly Example[]): Promise<boolean> {
    const redis = await this.emptied();
    let isBlocked = false;
    const calls = block.map(({ name, args }) =>
      redis.call(name, ...args).catch((error: Error) => {
        isBlocked ||= error instanceof CommandTimeoutError;
        return NO_REPLY;
      }),
    );
    const replies = await Promise.all(calls);
    if (isBlocked) await this.reconnect();
    return own.every((one) => asCode(replies[block.indexOf(one)]) === asCode(one.reply));
  }

  /** The server ends a command that blocks when its connection closes. */
  private async reconnect(): Promise<void> {
    this.redis.disconnect();
    await once(this.redis, "end");
    await this.redis.connect();
  }

  /** With a time limit, because a command without its preparation may block. */
  private async emptied(): Promise<Pick<Redis, "call">> {
    await this.redis.flushall();
    return this.redis.with({ timeout: TRIAL_TIMEOUT_MS });
  }
}

/** Not a read. Not a command that always blocks, which would take the time limit of each trial. */
function canPrepare(flags: number): boolean {
  const isBlocking = (flags & CommandFlag.Blocking) !== 0 && (flags & CommandFlag.BlockOption) === 0;
  return (flags & CommandFlag.Readonly) === 0 && !isBlocking;
}

/** @returns the code of the examples of each command, by its name in lower case */
export async function commandExamples({ methods }: Table): Promise<Map<string, string>> {
  const unable = new Set(methods.filter(({ flags }) => !canPrepare(flags)).map(({ name }) => name));
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
    for (const all of [recorded, await run(redis, callsOf(MORE))]) {
      const completion = new SelfContained(redis, all, unable);
      for (const name of new Set(all.map((example) => example.name))) {
        const own = all.filter(
          (example) => example.name === name && asCode(example.reply).length < MOST_CHARACTERS,
        );
        if (own.length === 0 || !(name in redis)) continue;
        const block = await completion.blockOf(own);
        byName.set(name, [...new Set(block.map(lineOf))].join("\n"));
      }
    }
  } finally {
    redis.disconnect();
    await server.stop();
  }
  return byName;
}
