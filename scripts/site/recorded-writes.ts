/**
 * The commands in each write, for a few short programs: each runs on the test server over a stream in memory
 * that records writes and replies. The site shows these records step by step.
 */

import { Redis } from "../../src/index";
import { memoryConnector } from "../../testing/src/memory-connector";
import { TestServer } from "../../testing/src/test-server";
import { commandsIn, type Tap, tapped, visibleBytes } from "./tapped-stream";

export interface Step {
  readonly side: "client" | "server";
  readonly bytes: number;
  /** Commands of a write; replies of an answer as they stand on the line. */
  readonly texts: readonly string[];
}

export interface Recording {
  readonly title: string;
  readonly code: string;
  readonly steps: readonly Step[];
}

/** The delay of replies, as from a distant server. */
const ROUND_TRIP_MS = 5;

interface Program {
  readonly title: string;
  readonly code: string;
  readonly isAutomatic?: boolean;
}

export const PROGRAMS: readonly Program[] = [
  {
    title: "Each command awaited",
    code: 'await redis.set("a", 1);\nawait redis.incr("a");\nawait redis.get("a");',
  },
  {
    title: "Three commands of one turn",
    code: 'await Promise.all([redis.set("a", 1), redis.incr("a"), redis.get("a")]);',
  },
  {
    title: "Unrelated request handlers",
    code:
      'const handler = (id) => redis.get("user:" + id);\n' +
      'await Promise.all(["1", "2", "3"].map((id) => new Promise((done) => setImmediate(() => handler(id).then(done)))));',
  },
  {
    title: "An explicit pipeline",
    code: 'await redis.pipeline().set("a", 1).incr("a").get("a").exec();',
  },
  {
    title: "A transaction",
    code: 'await redis.multi().set("a", 1).incr("a").exec();',
  },
  {
    title: "Auto-pipelining: commands wait for the batch in flight",
    isAutomatic: true,
    code:
      'const first = redis.set("a", 1);\n' +
      "await Promise.resolve();\n" +
      'setImmediate(() => { redis.incr("a"); redis.incr("a"); });\n' +
      'await first;\nawait redis.get("a");',
  },
];

/** Notes each write and each piece of replies as a step. */
function noting(steps: Step[]): Tap {
  return {
    wrote(chunk) {
      steps.push({ side: "client", bytes: chunk.length, texts: commandsIn(chunk) });
    },
    answered(chunk) {
      steps.push({ side: "server", bytes: chunk.length, texts: [visibleBytes(chunk)] });
    },
  };
}

async function record({ title, code, isAutomatic = false }: Program): Promise<Recording> {
  const server = TestServer.inMemory();
  const steps: Step[] = [];
  const Connector = memoryConnector(() => tapped(server.connect(), noting(steps), ROUND_TRIP_MS));
  const redis = new Redis({ Connector, enableAutoPipelining: isAutomatic });
  try {
    await redis.ping();
    // The handshake and the question above are no part of it.
    steps.length = 0;
    const AsyncFunction = (async () => {}).constructor as new (
      ...args: string[]
    ) => (client: Redis) => Promise<void>;
    await new AsyncFunction("redis", code)(redis);
    await redis.ping();
    const end = steps.findIndex(({ side, texts }) => side === "client" && /^ping$/i.test(texts.join()));
    return { title, code, steps: steps.slice(0, end) };
  } finally {
    redis.disconnect();
    await server.stop();
  }
}

export async function recordings(): Promise<Recording[]> {
  const made: Recording[] = [];
  for (const program of PROGRAMS) made.push(await record(program));
  return made;
}
