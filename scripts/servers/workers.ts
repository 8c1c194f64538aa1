/**
 * Cloudflare's runtime as a child process. A program is bundled into one module, as by Wrangler, and answers
 * HTTP requests on a local port until `stop`.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { connect } from "node:net";
import { join } from "node:path";
import { build, type Plugin } from "esbuild";
import { freePort } from "./free-port";
import { guardProcess, releaseProcess } from "./orphan-guard";
import { temporaryDirectory } from "./temporary-directory";
import { waitUntil } from "./wait-until";

/** From this date on, `nodejs_compat` includes `node:net` and `node:tls`, but no parts of later dates. */
const OLDEST_DATE = "2025-09-15";
const START_TIMEOUT_MS = 20_000;

export interface WorkersOptions {
  /** The module whose default export has `fetch`. */
  readonly entry: string;
  /** Modules by the names under which the program imports them. */
  readonly alias?: Readonly<Record<string, string>>;
  /** Texts that the program finds in its `env`. */
  readonly env?: Readonly<Record<string, string>>;
  /** A certificate of an authority that TLS connections trust, as PEM. */
  readonly authority?: string;
  readonly compatibilityDate?: string;
}

/** `require("node:net")` of a bundled CommonJS module becomes an import: Workers have no `require`. */
const builtins: Plugin = {
  name: "builtins",
  setup(build) {
    const names = new Set(builtinModules);
    build.onResolve({ filter: /.*/ }, ({ path, kind }) => {
      const name = path.replace(/^node:/, "");
      if (!names.has(name)) return undefined;
      return kind === "require-call"
        ? { path: `node:${name}`, namespace: "required" }
        : { path: `node:${name}`, external: true };
    });
    build.onLoad({ filter: /.*/, namespace: "required" }, ({ path }) => ({
      contents: `import module_ from ${JSON.stringify(path)}; module.exports = module_;`,
      loader: "js",
    }));
  },
};

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } finally {
    socket.destroy();
  }
}

export class Workers {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
  ) {}

  /** Bundles the program and waits until the runtime accepts connections. */
  static async start({
    entry,
    alias = {},
    env = {},
    authority,
    ...options
  }: WorkersOptions): Promise<Workers> {
    const directory = temporaryDirectory();
    const port = await freePort();
    await build({
      entryPoints: [entry],
      alias: { ...alias },
      outfile: join(directory, "worker.js"),
      bundle: true,
      format: "esm",
      target: "es2022",
      conditions: ["workerd", "worker"],
      plugins: [builtins],
      logLevel: "warning",
    });
    const bindings = Object.entries(env).map(
      ([name, text]) => `(name = "${name}", text = ${JSON.stringify(text)})`,
    );
    const trusted = authority === undefined ? "" : `trustedCertificates = [${JSON.stringify(authority)}]`;
    writeFileSync(
      join(directory, "config.capnp"),
      `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    (name = "internet", network = (allow = ["public", "private", "local"], tlsOptions = (${trusted})))
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")]
);
const main :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "${options.compatibilityDate ?? OLDEST_DATE}",
  compatibilityFlags = ["nodejs_compat"],
  bindings = [${bindings.join(", ")}],
  globalOutbound = "internet"
);
`,
    );
    const { default: binary } = require("workerd") as { default: string };
    const child = spawn(binary, ["serve", "config.capnp"], {
      cwd: directory,
      stdio: ["ignore", "inherit", "inherit"],
    });
    if (child.pid !== undefined) guardProcess(child.pid);
    const workers = new Workers(`http://127.0.0.1:${port}`, child);
    await waitUntil(() => accepts(port), {
      timeoutMs: START_TIMEOUT_MS,
      what: "workerd accepts connections",
    });
    return workers;
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  async fetch(path = "/"): Promise<Response> {
    return fetch(`${this.url}${path}`);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null) return;
    const isOver = once(this.child, "exit");
    this.child.kill("SIGKILL");
    await isOver;
    if (this.child.pid !== undefined) releaseProcess(this.child.pid);
  }
}
