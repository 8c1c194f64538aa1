import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import sinon, { useFakeTimers } from "sinon";
import { checkoutDirectory } from "../../../scripts/servers/cache-directory";
import { Delay } from "../../../src/util/scheduling";

const SOURCES = join(checkoutDirectory(), "src");
const HOME = join("util", "scheduling.ts");
/** A server for tests, which keeps a time of its own. */
const SERVER = "testing";
const GLOBALS =
  /(?<![\w.])(?:setTimeout|setInterval|setImmediate|clearTimeout|clearInterval|clearImmediate|queueMicrotask)\(|process\.(?:nextTick|hrtime)\b|performance\.now\b|Date\.now\b|node:timers/;
/** Methods of the API that have such a name. */
const METHOD = /^\s*setTimeout\(timeoutMs: number\): void \{$/;

const realSleep = (ms: number): Promise<void> => {
  const { setTimeout } = globalThis;
  return new Promise((resolve) => setTimeout(resolve, ms));
};

describe("scheduling", () => {
  it("is named by no other file", () => {
    const found: string[] = [];
    for (const path of readdirSync(SOURCES, { recursive: true, encoding: "utf8" })) {
      if (!path.endsWith(".ts") || path === HOME || path.startsWith(SERVER) || path.includes("generated"))
        continue;
      const lines = readFileSync(join(SOURCES, path), "utf8").split("\n");
      for (const [index, line] of lines.entries()) {
        const code = line.replace(/^\s*(?:\/?\*|\/\/).*$/, "");
        if (GLOBALS.test(code) && !METHOD.test(code)) found.push(`${path}:${index + 1} ${line.trim()}`);
      }
    }
    expect(found).to.deep.equal([]);
  });

  it("a delay is over exactly at its time by a faked clock, and not when it was stopped", () => {
    const clock = useFakeTimers();
    try {
      const over: string[] = [];
      new Delay(() => over.push("first"), 100);
      const second = new Delay(() => over.push("second"), 100);
      clock.tick(99);
      expect(over).to.deep.equal([]);
      second.stop();
      clock.tick(1);
      expect(over).to.deep.equal(["first"]);
      expect(clock.countTimers()).to.equal(0);
    } finally {
      clock.restore();
    }
  });

  it("a delay below zero, or none, is over at once: the timer is told zero", async () => {
    const setTimer = sinon.spy(globalThis, "setTimeout");
    try {
      await Promise.all(
        [-5, Number.NaN, 0].map((delayMs) => new Promise<void>((over) => new Delay(over, delayMs))),
      );
      expect(setTimer.args.map(([, delayMs]) => delayMs)).to.deep.equal([0, 0, 0]);
    } finally {
      setTimer.restore();
    }
  });

  it("a delay goes on by the real clock when the faked one was taken away", async () => {
    const clock = useFakeTimers();
    const over: string[] = [];
    new Delay(() => over.push("kept"), 60);
    const stopped = new Delay(() => over.push("stopped"), 60);
    clock.restore();
    await realSleep(10);
    stopped.stop();
    await realSleep(200);
    expect(over).to.deep.equal(["kept"]);
    // Turning the old clock on does not repeat it.
    clock.tick(1000);
    expect(over).to.deep.equal(["kept"]);
  });
});
