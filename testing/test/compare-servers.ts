/**
 * Runs the same program on two servers and says where they differ: replies one by one, then the
 * keyspace.
 */

import type { NetConnectOpts } from "node:net";
import { type ReplyTree, type ServerGone, type ServerSilent, WireClient } from "./support/wire-client";

export type Command = readonly string[];

/** Replies whose order means nothing. */
const UNORDERED = new Set([
  "keys",
  "smembers",
  "sinter",
  "sunion",
  "sdiff",
  "hgetall",
  "hkeys",
  "hvals",
  "scan",
  "sscan",
  "hscan",
  "zscan",
  "srandmember",
  "spop",
  "hrandfield",
  "zrandmember",
  "function",
  "geosearch",
  "georadius",
  "georadius_ro",
  "georadiusbymember",
  "georadiusbymember_ro",
]);
/** Their replies go with the clock: so many units apart is equal. */
const CLOCK_TOLERANCE: Readonly<Record<string, number>> = {
  ttl: 1,
  pttl: 1500,
  expiretime: 1,
  pexpiretime: 1500,
  httl: 1,
  hpttl: 1500,
  hexpiretime: 1,
  hpexpiretime: 1500,
};
const EARLIEST_TIME = 1e12;
const DIGITS_OF_SINE = 1e-14;
const DATABASES = [0, 1, 2];
const KEYS = ["a", "b", "c", "d"];

function sorted(tree: ReplyTree): ReplyTree {
  const [type, content] = tree;
  if (!Array.isArray(content)) return tree;
  const items = content.map((item) => sorted(item as ReplyTree));
  return [type, items.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))];
}

function isNear(a: ReplyTree, b: ReplyTree, tolerance: number): boolean {
  if (Array.isArray(a[1]) && Array.isArray(b[1])) {
    const [left, right] = [a[1] as ReplyTree[], b[1] as ReplyTree[]];
    return (
      left.length === right.length && left.every((one, at) => isNear(one, right[at] as ReplyTree, tolerance))
    );
  }
  const [x, y] = [Number(a[1]), Number(b[1])];
  if (a[0] !== ":" || b[0] !== ":" || x < 0 || y < 0) return JSON.stringify(a) === JSON.stringify(b);
  return Math.abs(x - y) <= tolerance;
}

/** Times since 1970 in milliseconds are those of two clocks. */
function withoutTimes([type, content]: ReplyTree): ReplyTree {
  if (Array.isArray(content)) return [type, content.map((item) => withoutTimes(item as ReplyTree))];
  return type === ":" && Number(content) > EARLIEST_TIME ? [type, "a time"] : [type, content];
}

/** The order of a hash stays none when a script passes it on. */
function isUnorderedScript(name: string, command: Command): boolean {
  return /^(?:eval|fcall)/.test(name) && command.some((word) => word.includes("'hgetall'"));
}

/**
 * Defects of a server that a test server need not have. SORT of Redis 7.0 judges a number by an
 * error that some command before it has left behind in the C library.
 */
const DEFECTS: readonly ((one: Difference) => boolean)[] = [
  ({ command, real, test }) =>
    /^sort/i.test(command[0] ?? "") &&
    real[1] === "ERR One or more scores can't be converted into double" &&
    test[0] !== "-",
];

export function isDefect(one: Difference): boolean {
  return DEFECTS.some((matches) => matches(one));
}

/**
 * ACL CAT in no order, and the commands of a user: Redis 7.0 names single ones in the order of a hash
 * table with a seed of its own.
 */
function withoutOrderOfCommands(tree: ReplyTree): ReplyTree {
  const [type, content] = tree;
  if (Array.isArray(content)) return [type, content.map((item) => withoutOrderOfCommands(item as ReplyTree))];
  if (typeof content !== "string" || !/[+-]@all/.test(content)) return tree;
  return [type, content.split(" ").sort().join(" ")];
}

/** The last digits of a distance that STOREDIST keeps are those of the C library's sine. */
function isNearScore(a: ReplyTree, b: ReplyTree): boolean {
  if (Array.isArray(a[1]) && Array.isArray(b[1])) {
    const right = b[1] as ReplyTree[];
    return (
      a[1].length === right.length &&
      (a[1] as ReplyTree[]).every((one, at) => isNearScore(one, right[at] as ReplyTree))
    );
  }
  const [x, y] = [Number(a[1]), Number(b[1])];
  if (a[0] !== b[0] || !(Math.abs(x - y) <= Math.abs(x) * DIGITS_OF_SINE)) {
    return JSON.stringify(a) === JSON.stringify(b);
  }
  return true;
}

function isSame(command: Command, a: ReplyTree, b: ReplyTree): boolean {
  const name = (command[0] ?? "").toLowerCase();
  if (name === "acl" && command[1] === "cat") return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
  if (name === "acl")
    return JSON.stringify(withoutOrderOfCommands(a)) === JSON.stringify(withoutOrderOfCommands(b));
  const tolerance = CLOCK_TOLERANCE[name];
  if (tolerance !== undefined) return isNear(a, b, tolerance);
  // A server counts keys whose time has come until it has come by to remove them.
  if (name === "dbsize" && a[0] === ":" && b[0] === ":") return Number(a[1]) >= Number(b[1]);
  if (name === "xinfo") return JSON.stringify(withoutTimes(a)) === JSON.stringify(withoutTimes(b));
  if (UNORDERED.has(name) || isUnorderedScript(name, command))
    return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
  return JSON.stringify(a) === JSON.stringify(b);
}

/** In RESP2 commands of every key; only the one of its kind does not answer WRONGTYPE. */
function dumpOf(key: string): Command[] {
  return [
    ["type", key],
    ["pttl", key],
    ["get", key],
    ["lrange", key, "0", "-1"],
    ["smembers", key],
    ["zrange", key, "0", "-1", "WITHSCORES"],
    ["hgetall", key],
    ["xrange", key, "-", "+"],
  ];
}

const DUMP: readonly Command[] = DATABASES.flatMap((database) => [
  ["select", String(database)],
  ["keys", "*"],
  ...KEYS.flatMap(dumpOf),
]);

export interface Difference {
  readonly command: Command;
  readonly index: number;
  readonly real: ReplyTree;
  readonly test: ReplyTree;
}

/** One of the servers hung up or fell silent in the middle of a program. */
export class NoAnswer extends Error {
  constructor(
    readonly side: "real" | "test",
    readonly command: Command,
    program: readonly Command[],
    cause: Error,
  ) {
    const lines = program.map((one) => `    ${wordsOf(one)}`).join("\n");
    super(
      `the ${side} server gave no reply from ${wordsOf(command)} on: ${cause.message}\n  of the program\n${lines}`,
      {
        cause,
      },
    );
  }
}

export class Differential {
  private clients: readonly [real: WireClient, test: WireClient] | null = null;

  constructor(
    private readonly real: NetConnectOpts,
    private readonly test: NetConnectOpts,
  ) {}

  async connect(): Promise<void> {
    this.clients ??= [await WireClient.connect(this.real), await WireClient.connect(this.test)];
  }

  async close(): Promise<void> {
    await Promise.all((this.clients ?? []).map((client) => client.close()));
    this.clients = null;
  }

  /**
   * Null if the servers agree on every reply and on what is in their keyspaces. Rejects with
   * `NoAnswer`; the next program has connections of its own then.
   */
  async run(program: readonly Command[], protocol: 2 | 3): Promise<Difference | null> {
    // The remains of the last program are not compared.
    const preparation: Command[] = [
      ["reset"],
      ["flushall"],
      ["function", "flush"],
      ["acl", "deluser", "u"],
      ["config", "set", "notify-keyspace-events", ""],
      ["hello", String(protocol)],
    ];
    const all: Command[] = [...preparation, ...program, ["reset"], ...DUMP];
    await this.connect();
    const clients = this.clients ?? [];
    const [real, test] = await Promise.allSettled(clients.map((client) => client.run(all)));
    for (const [side, outcome] of [
      ["real", real],
      ["test", test],
    ] as const) {
      if (outcome?.status !== "rejected") continue;
      await this.close();
      const cause = outcome.reason as ServerGone | ServerSilent;
      throw new NoAnswer(side, all[cause.answered] ?? [], program, cause);
    }
    return firstDifference(all, preparation.length, repliesOf(real), repliesOf(test));
  }
}

function repliesOf(outcome: PromiseSettledResult<ReplyTree[]> | undefined): readonly ReplyTree[] {
  return outcome?.status === "fulfilled" ? outcome.value : [];
}

function firstDifference(
  commands: readonly Command[],
  from: number,
  real: readonly ReplyTree[],
  test: readonly ReplyTree[],
): Difference | null {
  const storesDistances = commands.some((words) => words.some((word) => /^storedist$/i.test(word)));
  let queued: Command[] = [];
  for (let index = from; index < commands.length; index++) {
    const command = commands[index] as Command;
    const [a, b] = [real[index] as ReplyTree, test[index] as ReplyTree];
    if (a[0] === "+" && a[1] === "QUEUED") queued.push(command);
    const isEqual =
      isSame(command, a, b) ||
      (/^exec$/i.test(command[0] ?? "") && isSameExec(queued, a, b)) ||
      (storesDistances && isNearScore(a, b));
    if (!isEqual) return { command, index, real: a, test: b };
    // A MULTI inside of a transaction is refused and changes nothing.
    const isOver = /^(?:multi|exec|discard|reset)$/i.test(command[0] ?? "");
    if (isOver && !(/^multi$/i.test(command[0] ?? "") && a[0] === "-")) queued = [];
  }
  return null;
}

/** Each reply of a transaction is compared as that of its command. */
function isSameExec(queued: readonly Command[], [, a]: ReplyTree, [, b]: ReplyTree): boolean {
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== queued.length || b.length !== a.length)
    return false;
  return queued.every((command, at) => isSame(command, a[at] as ReplyTree, b[at] as ReplyTree));
}

function wordsOf(command: Command): string {
  return command.map((word) => JSON.stringify(word)).join(" ");
}

export function describeDifference(difference: Difference, program: readonly Command[]): string {
  const { command, real, test } = difference;
  return [
    `the servers differ on ${wordsOf(command)}`,
    `  real ${JSON.stringify(real)}`,
    `  test ${JSON.stringify(test)}`,
    "  of the program",
    ...program.map((one) => `    ${wordsOf(one)}`),
  ].join("\n");
}
