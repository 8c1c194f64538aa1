/** `sluice/otel` out of the packed tarball: both module forms, its types, and what it says without its peers. */

import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { checkoutDirectory } from "../../scripts/servers/cache-directory";
import { Application, packPackage } from "./installed-package";

const INSTALL_TIMEOUT_MS = 120_000;

const JOB = `
async function job(Redis, { instrument }, api, { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor }) {
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const { disable } = instrument({ tracerProvider, spans: "batch" });
  const redis = new Redis({ port: 1, lazyConnect: true, enableOfflineQueue: false });
  await redis.get("a").catch(() => {});
  redis.disconnect();
  disable();
  return exporter.getFinishedSpans().map(({ name, attributes }) => [name, attributes["error.type"]]);
}
`;
const SPANS = [["GET", "OFFLINE_QUEUE_DISABLED"]];

const TYPED_USE = `
import { instrument, type Instrumented, type InstrumentOptions } from "sluice/otel";
import { SluiceInstrumentation } from "sluice/otel/instrumentation";
const options: InstrumentOptions = { spans: "batch", metrics: true, minDurationMs: 1, queryText: "keys", requireParent: true };
const instrumented: Instrumented = instrument(options);
instrumented.disable();
new SluiceInstrumentation({ spans: "none", enabled: false });
// @ts-expect-error
instrument({ spans: "all" });
`;

describe("sluice/otel, packed", function () {
  this.timeout(INSTALL_TIMEOUT_MS);
  let application: Application;

  before(async () => {
    application = await Application.create({ sluice: await packPackage() });
  });

  /** Linked, so that they find what they need themselves. */
  function installPeers(): void {
    const target = join(application.directory, "node_modules", "@opentelemetry");
    rmSync(target, { recursive: true, force: true });
    symlinkSync(join(checkoutDirectory(), "node_modules", "@opentelemetry"), target, "junction");
  }

  it("says which package to install", async () => {
    rmSync(join(application.directory, "node_modules", "@opentelemetry"), { recursive: true, force: true });
    const said = await application.evaluate(
      "missing.cjs",
      `const messages = [];
       for (const work of [() => require("sluice/otel").instrument(), () => require("sluice/otel/instrumentation")]) {
         try { work(); } catch (error) { messages.push(error.message); }
       }
       console.log(JSON.stringify(messages));`,
    );
    expect(said).to.deep.equal([
      "sluice/otel needs the package @opentelemetry/api: npm install @opentelemetry/api",
      "sluice/otel needs the package @opentelemetry/instrumentation: npm install @opentelemetry/instrumentation",
    ]);
  });

  it("works as a CommonJS module and as an ES module", async () => {
    installPeers();
    const cjs = await application.evaluate(
      "job.cjs",
      `${JOB}
       job(require("sluice"), require("sluice/otel"), require("@opentelemetry/api"), require("@opentelemetry/sdk-trace-base"))
         .then((spans) => console.log(JSON.stringify(spans)));`,
    );
    expect(cjs).to.deep.equal(SPANS);
    const esm = await application.evaluate(
      "job.mjs",
      `import Redis from "sluice";
       import { instrument } from "sluice/otel";
       import { SluiceInstrumentation } from "sluice/otel/instrumentation";
       import * as api from "@opentelemetry/api";
       import * as sdk from "@opentelemetry/sdk-trace-base";
       ${JOB}
       new SluiceInstrumentation({ enabled: false });
       console.log(JSON.stringify(await job(Redis, { instrument }, api, sdk)));`,
    );
    expect(esm).to.deep.equal(SPANS);
  });

  it("has types", async () => {
    installPeers();
    application.write("typed.mts", TYPED_USE);
    const errors = await application.compile({ module: "nodenext", moduleResolution: "nodenext" }, [
      "typed.mts",
    ]);
    expect(errors).to.equal("");
  });
});
