import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect } from "chai";
import { shorten } from "../../../src/util/debug";
import { addHint } from "../../../src/util/error-hint";

const MODULE = join(__dirname, "..", "..", "..", "src", "util", "debug.js");

/** Runs code in a process of its own; what it wrote to stdout and stderr. */
function run(code: string, debug: string | undefined): string {
  const env: NodeJS.ProcessEnv = { ...process.env, DEBUG_COLORS: "no" };
  delete env["DEBUG"];
  if (debug !== undefined) env["DEBUG"] = debug;
  const script = `const { debugLog } = require(${JSON.stringify(MODULE)});
    const isLoaded = () => Object.keys(require.cache).some((path) => /node_modules.debug.src/.test(path));
    ${code}`;
  return execFileSync(
    process.execPath,
    ["-e", `process.stderr.write = (t) => process.stdout.write(t); ${script}`],
    {
      env,
      encoding: "utf8",
    },
  );
}

describe("debugLog", () => {
  it("writes under the name of the topic when the environment asks for it", () => {
    const output = run('debugLog("connection")("to %s: %o", "h:1", ["a"])', "sluice:*");
    expect(output).to.match(/sluice:connection to h:1: \[ 'a' \]/);
  });

  it("is silent without the package, which it looks for once", () => {
    const code = `const { Module } = require("node:module");
      const resolve = Module._resolveFilename;
      let looks = 0;
      Module._resolveFilename = (name, ...rest) => {
        if (name !== "debug") return resolve(name, ...rest);
        looks++;
        throw new Error("Cannot find module");
      };
      const log = debugLog("link");
      log("x");
      debugLog("redis")("y");
      console.log(log.enabled, looks);`;
    expect(run(code, "sluice:*")).to.equal("false 1\n");
  });

  it("neither writes nor loads anything otherwise", () => {
    const code = 'const log = debugLog("link"); log("x"); console.log(log.enabled, isLoaded())';
    expect(run(code, undefined)).to.equal("false false\n");
    expect(run('const log = debugLog("link"); log("x"); console.log(log.enabled)', "other")).to.equal(
      "false\n",
    );
    expect(run('debugLog("link")("x"); debugLog("redis")("y")', "sluice:redis")).to.match(
      /^[^x]*sluice:redis y/,
    );
  });

  it("can be switched on later", () => {
    const code = `const log = debugLog("link"); log("before");
      require(${JSON.stringify(require.resolve("debug"))}).enable("sluice:*"); log("after")`;
    expect(run(code, undefined)).to.match(/^[^\n]*sluice:link after/);
  });
});

describe("shorten", () => {
  it("cuts long strings and says so", () => {
    expect(shorten("a".repeat(200))).to.equal("a".repeat(200));
    expect(shorten("a".repeat(345))).to.equal(`${"a".repeat(200)} ... <cut, full length 345>`);
  });

  it("tells Buffers by their size and errors by their message", () => {
    expect(shorten(Buffer.alloc(7))).to.equal("<Buffer of 7 bytes>");
    expect(shorten(new Error("no"))).to.equal("no");
    expect(shorten(addHint(new Error("no"), "Say yes."))).to.equal("no (hint: Say yes.)");
  });

  it("goes through arrays and leaves the rest", () => {
    const long = Array.from({ length: 25 }, (_, index) => index);
    expect(shorten(["a", Buffer.alloc(1)])).to.deep.equal(["a", "<Buffer of 1 bytes>"]);
    expect(shorten(long)).to.deep.equal([...long.slice(0, 20), "<5 more>"]);
    expect(shorten(3)).to.equal(3);
  });
});
