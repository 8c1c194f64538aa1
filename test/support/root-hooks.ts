/**
 * Mocha loads this first: leak checks around every test, shared servers stopped at the end. A leak
 * fails the run at its end, with the names of all tests that left something: a hook that fails
 * after a test would end the run there and then.
 */

import { defaultOptions } from "../../src/client/options/redis-options";
import { assertNothingLeft, rememberResources, watchCommands } from "./leak-check";
import { stopSharedServers } from "./shared-servers";

watchCommands();
useLanes(process.env["SLUICE_CONNECTIONS"]);

const leaks: string[] = [];

/** `2`: all clients have two lanes; `2+1`: and a connection for large values. */
function useLanes(choice: string | undefined): void {
  if (choice === undefined) return;
  const [lanes = 1, bulk = 0] = choice.split("+").map(Number);
  Object.assign(defaultOptions, { connections: { lanes, bulk } });
}

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
    await stopSharedServers();
    if (leaks.length > 0) throw new Error(leaks.join("\n"));
  },
};
