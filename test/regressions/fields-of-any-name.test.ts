/** Fields of any name become own properties, whatever has been done to `Object.prototype`. */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { ServerFixture } from "../support/server-fixture";

const run = promisify(execFile);
const NAMES = ["toString", "constructor", "__proto__", "valueOf", "locked", "counted", "own"];

/** A program does this to the prototype of all objects before it makes a client. */
const PREPARATIONS: Readonly<Record<string, string>> = {
  "left as it is": "",
  frozen: "Object.freeze(Object.prototype);",
  "given a read-only property": 'Object.defineProperty(Object.prototype, "locked", { value: 1 });',
  "given accessors": `
    Object.defineProperty(Object.prototype, "locked", { get() { return 1; }, configurable: true });
    Object.defineProperty(Object.prototype, "counted", { get() { return 1; }, set() {}, configurable: true });`,
};

describe("fields of any name", () => {
  const fixture = new ServerFixture().install();

  for (const [title, preparation] of Object.entries(PREPARATIONS)) {
    it(`become own properties while Object.prototype is ${title}`, async () => {
      const { host, port } = fixture.server;
      const program = `
        const { Redis } = require(${JSON.stringify(join(__dirname, "../../src/index.js"))});
        ${preparation}
        (async () => {
          const found = [];
          for (const options of [{}, { protocol: 2 }, { replyMapping: "resp3" }]) {
            const redis = new Redis({ host: "${host}", port: ${port}, ...options });
            await redis.call("hset", "h", ${NAMES.map((name) => `"${name}", "value of ${name}"`).join(", ")});
            const hash = await redis.hgetall("h");
            found.push(Object.keys(hash).map((name) => [name, Object.getOwnPropertyDescriptor(hash, name).value]));
            redis.disconnect();
          }
          console.log(JSON.stringify(found));
        })().catch((error) => console.log(JSON.stringify(String(error.stack))));`;
      const { stdout } = await run(process.execPath, ["-e", program]);
      const rows = NAMES.map((name) => [name, `value of ${name}`]);
      expect(JSON.parse(stdout)).to.deep.equal([rows, rows, rows]);
    });
  }
});
