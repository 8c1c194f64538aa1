/**
 * Mocha loads this first: leak checks around every test, shared servers stopped at the end. A leak
 * fails the run at its end, with the names of all tests that left something: a hook that fails
 * after a test would end the run there and then.
 */

import "./own-processor";

import fc from "fast-check";
import { assertNothingLeft, rememberResources, watchCommands } from "./leak-check";
import { seedOfRun } from "./properties";
import { stopSharedClusters } from "./shared-clusters";
import { stopSharedServers } from "./shared-servers";

watchCommands();
// Of the properties that do not choose how they run.
fc.configureGlobal({ seed: seedOfRun() });

const leaks: string[] = [];

export const mochaHooks = {
  async beforeEach(): Promise<void> {
    await rememberResources();
  },
  async afterEach(this: Mocha.Context): Promise<void> {
    await assertNothingLeft().catch((error: Error) => {
      const title = this.currentTest?.fullTitle() ?? "a test";
      console.log(`      ${error.message}`);
      leaks.push(`${title}: ${error.message}`);
    });
  },
  async afterAll(): Promise<void> {
    await Promise.all([stopSharedServers(), stopSharedClusters()]);
    if (leaks.length > 0) throw new Error(leaks.join("\n"));
  },
};
