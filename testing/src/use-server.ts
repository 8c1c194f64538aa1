/**
 * A server for the tests of a file or a `describe`, in mocha, Jest and vitest: started before the
 * first, back in its first state before each, stopped after the last.
 */

import { type ServerSnapshot, TestServer, type TestServerOptions } from "./test-server";

type Hook = (body: () => void | Promise<void>) => void;

/** The runner's own functions; taken from the globals if they are not given. */
export interface TestHooks {
  readonly beforeAll: Hook;
  readonly beforeEach: Hook;
  readonly afterAll: Hook;
}

export interface UseServerOptions extends TestServerOptions {
  /** For runners without globals: `import { beforeAll, beforeEach, afterAll } from "vitest"`. */
  readonly hooks?: TestHooks;
  /** The state that each test starts with. */
  readonly prepare?: (server: TestServer) => void | Promise<void>;
}

/** The server while tests run. */
export interface ServerInUse {
  readonly server: TestServer;
  readonly url: string;
}

function globalHook(names: readonly string[]): Hook {
  const globals = globalThis as unknown as Readonly<Record<string, Hook | undefined>>;
  for (const name of names) {
    const hook = globals[name];
    if (typeof hook === "function") return hook;
  }
  throw new Error(`useServer() found none of ${names.join(", ")} here; pass them as the option "hooks"`);
}

/**
 * @example
 * const redis = useServer({ version: "8.2" });
 * it("counts", async () => {
 *   const service = new Service(redis.url);
 * });
 */
export function useServer(options: UseServerOptions = {}): ServerInUse {
  const { hooks, prepare, ...rest } = options;
  let running: TestServer | null = null;
  let clean: ServerSnapshot | null = null;
  (hooks?.beforeAll ?? globalHook(["beforeAll", "before"]))(async () => {
    running = await TestServer.start(rest);
    await prepare?.(running);
    clean = running.snapshot();
  });
  (hooks?.beforeEach ?? globalHook(["beforeEach"]))(() => {
    if (running === null || clean === null) return;
    running.faults.clear();
    running.restore(clean);
  });
  (hooks?.afterAll ?? globalHook(["afterAll", "after"]))(async () => {
    await running?.stop();
    running = null;
  });
  return {
    get server(): TestServer {
      if (running === null)
        throw new Error("The server of useServer() runs while tests run, not before or after");
      return running;
    },
    get url(): string {
      return this.server.url;
    },
  };
}
