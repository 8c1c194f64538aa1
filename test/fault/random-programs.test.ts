/**
 * Guarantees 1 to 6 at random: programs of every kind of call, over a line that is cut, stalled
 * and swallowed at random places, with random options, on a real server. Books say what may come
 * of each call; what the server has in the end must agree with what the callers were told.
 */

import { expect } from "chai";
import fc from "fast-check";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { Redis } from "../../src/index";
import { countInjections } from "../support/injections";
import { closeClient } from "../support/matrix";
import { fixedRuns } from "../support/properties";
import { programs } from "../support/random-program";
import { serverKinds, sharedServer } from "../support/shared-servers";
import { runProgram } from "./program-runner";

const LONG = process.env.SLUICE_LONG === "1";
const PROGRAMS = 100;
/** A program that fails is made smaller for so long. */
const SHRINKING_MS = 60_000;

describe("random programs over a bad line", function () {
  this.timeout(LONG ? 3_600_000 : 120_000);
  const injections = countInjections("random programs over a bad line");
  let server: ServerProcess;
  let control: Redis;
  before(() => Promise.all(serverKinds().map(sharedServer)));
  afterEach(() => closeClient(control));

  for (const kind of serverKinds()) {
    it(`${kind}: every call settles once, the books are right`, async () => {
      server = await sharedServer(kind);
      control = new Redis({ host: server.host, port: server.port });
      let calls = 0;
      let losses = 0;
      let firstFailureMs = Number.POSITIVE_INFINITY;
      await fc.assert(
        fc.asyncProperty(programs, async (program) => {
          if (performance.now() - firstFailureMs > SHRINKING_MS) return;
          const verdict = await runProgram(program, server, control);
          if (verdict.faults.length > 0) {
            firstFailureMs = Math.min(firstFailureMs, performance.now());
            throw new Error(verdict.faults.join("\n"));
          }
          calls += verdict.calls;
          losses += verdict.losses;
          injections.add();
        }),
        fixedRuns(PROGRAMS),
      );
      console.log(`      ${calls} commands, ${losses} connections lost or beside the first`);
      expect(calls).to.be.greaterThan(PROGRAMS);
    });
  }
});
