/** Mocha loads this first: leak checks around every test, shared servers stopped at the end. */

import { assertNothingLeft, rememberResources, watchCommands } from "./leak-check";
import { stopSharedServers } from "./shared-servers";

watchCommands();

export const mochaHooks = {
  async beforeEach(): Promise<void> {
    await rememberResources();
  },
  async afterEach(): Promise<void> {
    await assertNothingLeft();
  },
  async afterAll(): Promise<void> {
    await stopSharedServers();
  },
};
