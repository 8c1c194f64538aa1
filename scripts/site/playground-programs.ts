/** The initial programs of the playground. The tests of the site run each of them. */

import { PROGRAMS } from "./recorded-writes";

export interface PlaygroundProgram {
  readonly title: string;
  readonly code: string;
  readonly isAutomatic?: boolean;
  /** Masters of the cluster that it runs on; absent: one server. */
  readonly masters?: number;
}

export const PLAYGROUND_PROGRAMS: readonly PlaygroundProgram[] = [
  {
    title: "Single commands and a pipeline",
    code: `// Three commands of one turn share a write.
const [, visits] = await Promise.all([
  redis.set("greeting", "hello"),
  redis.incr("visits"),
  redis.get("greeting"),
]);
console.log("visits:", visits);

// A pipeline says where the batch begins and ends.
const rows = await redis.pipeline().get("greeting").incr("visits").exec();
console.log(rows);
`,
  },
  {
    title: "A pipeline with an error in one row",
    code: `await redis.set("text", "not a number");
const rows = await redis.pipeline().incr("counter").incr("text").incr("counter").exec();
for (const [error, value] of rows) {
  console.log(error === null ? value : error.message);
}
`,
  },
  {
    title: "A pipeline on a cluster: one write for each node",
    masters: 3,
    code: `const pipeline = redis.pipeline();
for (let id = 1; id <= 12; id++) pipeline.set("user:" + id, "name " + id);
const rows = await pipeline.exec();
console.log(rows.length, "rows in the order of the pipeline");
`,
  },
  {
    title: "A slot moves while a pipeline is written",
    masters: 3,
    code: `// The former owner answers MOVED; the client asks the new one, and no row fails.
const owner = server.ownerOf("account:1");
const other = server.nodes.find((node) => node.isMaster && node !== owner);
await redis.set("account:1", 10);
const slot = await redis.cluster("KEYSLOT", "account:1");
server.faults.move(slot, other);
console.log(await redis.pipeline().incr("account:1").get("account:1").exec());
`,
  },
  {
    title: "A thousand commands of one turn",
    code: `await Promise.all(Array.from({ length: 1000 }, (_, index) => redis.set("key:" + index, index)));
`,
  },
  {
    title: "The server is out of memory",
    code: `server.faults.oom();
try {
  await redis.set("key", "value");
} catch (error) {
  console.log(error.name, error.message);
}
`,
  },
  {
    title: "A script",
    code: `const sum = "local s = 0 for _, key in ipairs(KEYS) do s = s + (redis.call('GET', key) or 0) end return s";
await redis.mset("a", 1, "b", 2, "c", 3);
console.log(await redis.eval(sum, 3, "a", "b", "c"));
`,
  },
  ...PROGRAMS.map(({ title, code, isAutomatic = false }) => ({ title, code, isAutomatic })),
];
