/**
 * `instrument()` for set-ups that collect instrumentations (`registerInstrumentations`, `NodeSDK`). Users also
 * install `@opentelemetry/instrumentation`.
 */

import type { MeterProvider, TracerProvider } from "@opentelemetry/api";
import type { InstrumentationConfig } from "@opentelemetry/instrumentation";
import { VERSION } from "../util/version";
import { missing } from "./api";
import { type Instrumented, type InstrumentOptions, instrument } from "./index";

type Base = typeof import("@opentelemetry/instrumentation");

export type SluiceInstrumentationConfig = InstrumentationConfig &
  Omit<InstrumentOptions, "tracerProvider" | "meterProvider">;

function loadBase(): Base {
  try {
    return require("@opentelemetry/instrumentation") as Base;
  } catch (cause) {
    throw missing("@opentelemetry/instrumentation", cause);
  }
}

const { InstrumentationBase } = loadBase();

/**
 * `instrument()` as an instrumentation.
 *
 * @example
 * registerInstrumentations({ instrumentations: [new SluiceInstrumentation({ spans: "batch" })] });
 */
export class SluiceInstrumentation extends InstrumentationBase<SluiceInstrumentationConfig> {
  // Declared without a value: the base class calls `enable` before an initializer would run.
  declare private instrumented: Instrumented | undefined;
  declare private providers: { tracerProvider?: TracerProvider; meterProvider?: MeterProvider } | undefined;

  constructor(config: SluiceInstrumentationConfig = {}) {
    super("sluice/otel", VERSION, config);
  }

  override enable(): void {
    const { enabled: _, ...options } = this.getConfig();
    this.instrumented = instrument({ ...options, ...this.providers });
  }

  override disable(): void {
    this.instrumented?.disable();
    this.instrumented = undefined;
  }

  override setTracerProvider(tracerProvider: TracerProvider): void {
    super.setTracerProvider(tracerProvider);
    this.use({ tracerProvider });
  }

  override setMeterProvider(meterProvider: MeterProvider): void {
    super.setMeterProvider(meterProvider);
    this.use({ meterProvider });
  }

  /** Nothing is patched. */
  protected override init(): [] {
    return [];
  }

  private use(provider: { tracerProvider?: TracerProvider; meterProvider?: MeterProvider }): void {
    this.providers = { ...this.providers, ...provider };
    if (this.instrumented !== undefined) this.enable();
  }
}
