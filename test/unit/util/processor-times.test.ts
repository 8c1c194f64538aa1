/** The scheduling times of a thread, read from a file in the format of the kernel and from the kernel itself. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { timesIn } from "../../../src/util/processor-times";

const PATH = "/proc/thread-self/schedstat";
const MODULE = require.resolve("../../../src/util/processor-times");

describe("the scheduling times of a thread", () => {
  let directory: string;
  before(() => {
    directory = mkdtempSync(join(tmpdir(), "sluice-times-"));
  });
  after(() => rmSync(directory, { recursive: true }));

  it("are the first two numbers of the file, which is read anew each time", () => {
    const path = join(directory, "times");
    writeFileSync(path, "5000000 250000 7\n");
    const read = timesIn(path);
    expect(read?.()).to.deep.equal({ ranMs: 5, waitedMs: 0.25 });
    writeFileSync(path, "123456789000000 98765000000 18446744073709551615\n");
    expect(read?.()).to.deep.equal({ ranMs: 123_456_789, waitedMs: 98_765 });
  });

  it("are unknown without the file", () => {
    expect(timesIn(join(directory, "missing"))).to.equal(null);
  });

  describe("of Linux", () => {
    before(function () {
      if (process.platform !== "linux" || spawnSync("taskset", ["-V"]).status !== 0) this.skip();
    });

    /** The share of its ready time in which a busy process has waited, on the first processor of this process. */
    async function shareWaited(isShared: boolean): Promise<number> {
      const program = `
        const { timesIn } = require(${JSON.stringify(MODULE)});
        const read = timesIn(${JSON.stringify(PATH)});
        const before = read();
        for (const endMs = Date.now() + 400; Date.now() < endMs; );
        const { ranMs, waitedMs } = read();
        const waited = waitedMs - before.waitedMs;
        console.log(waited / (waited + ranMs - before.ranMs));`;
      const cpu =
        String(spawnSync("taskset", ["-cp", String(process.pid)]).stdout).match(/\d+(?=\D*$)/)?.[0] ?? "0";
      const pinned = (code: string): ChildProcess =>
        spawn("taskset", ["-c", cpu, process.execPath, "-e", code], { stdio: ["ignore", "pipe", "inherit"] });
      const other = isShared ? pinned("console.log(); for (;;);") : null;
      if (other?.stdout) await once(other.stdout, "data");
      try {
        const [data] = await once(pinned(program).stdout as NodeJS.ReadableStream, "data");
        return Number(data);
      } finally {
        other?.kill();
      }
    }

    it("are unknown once the program has closed the file", () => {
      const program = `
        const { processorTimes } = require(${JSON.stringify(MODULE)});
        const isKnown = () => processorTimes() !== null;
        const before = isKnown();
        const { closeSync, readdirSync, readlinkSync } = require("node:fs");
        for (const fd of readdirSync("/proc/self/fd")) {
          try {
            if (readlinkSync("/proc/self/fd/" + fd).endsWith("/schedstat")) closeSync(Number(fd));
          } catch {}
        }
        console.log(before, isKnown(), isKnown());`;
      expect(String(spawnSync(process.execPath, ["-e", program]).stdout)).to.equal("true false false\n");
    });

    it("tell whether another program uses the processor", async function () {
      this.timeout(20_000);
      expect(await shareWaited(true)).to.be.above(0.15);
    });
  });
});
