/** For suites that a run with `--connections=` must leave as they are. */

import { defaultOptions } from "../../src/client/options/redis-options";

/**
 * Gives the clients of the surrounding `describe` one connection each, whatever was chosen for the run. Such a suite
 * counts connections, looks at what one of them has written, or tries what lanes exclude.
 */
export function onOneConnection(): void {
  const options: { connections?: unknown } = defaultOptions;
  const { connections } = options;
  if (connections === undefined) return;
  before(() => {
    options.connections = undefined;
  });
  after(() => {
    options.connections = connections;
  });
}
