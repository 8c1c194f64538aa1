/**
 * Secrets for an audit, and the search for them. Each place gets a random secret of its own, so
 * that one found tells where it came from. Everything that people may come to see is noted as
 * text; fragments count, and so do the forms in which bytes are shown.
 */

import { randomBytes } from "node:crypto";
import { subscribe, type TracingChannel, tracingChannel, unsubscribe } from "node:diagnostics_channel";
import { format, inspect } from "node:util";
import type { Attributes, BatchObservableCallback, MeterProvider, TracerProvider } from "@opentelemetry/api";
import { instrument } from "../../src/otel/index";

/** Fragments that are looked for. Shorter ones are found by chance. */
const FRAGMENT_LENGTH = 8;
const CHANNELS = [
  ...["command", "batch", "connect"].map((name) => `ioredis:${name}`),
  ...["pipeline", "flush", "connection", "pubsub"].map((name) => `sluice:${name}`),
];
const MESSAGES = ["sluice:redirect", "sluice:failover", "sluice:cache"];
const TRACE_EVENTS = ["start", "end", "asyncStart", "asyncEnd", "error"] as const;
const CONSOLE_METHODS = ["log", "warn", "error", "info", "debug"] as const;

/** Runs of characters that can be a part of a secret, and bytes as they are shown. */
const RUNS = /[A-Za-z0-9+/]{8,}/g;
const HEX_BYTES = /[0-9a-f]{2}(?: ?[0-9a-f]{2}){7,}/g;
const DECIMAL_BYTES = /\d{2,3}(?:, ?\d{2,3}){7,}/g;

/** The words of a text that may be secrets. */
function* candidatesIn(text: string): Generator<string> {
  for (const [run] of text.matchAll(RUNS)) yield run;
  for (const [run] of text.matchAll(HEX_BYTES)) {
    yield Buffer.from(run.replaceAll(" ", ""), "hex").toString("latin1");
  }
  for (const [run] of text.matchAll(DECIMAL_BYTES)) {
    yield Buffer.from(run.split(",").map(Number)).toString("latin1");
  }
}

export class Secrets {
  readonly values = new Map<string, string>();

  /** Fragments of secrets and the places of these. */
  private readonly fragments = new Map<string, string>();

  /** The secret of a place, the same each time. */
  of(place: string): string {
    return this.values.get(place) ?? this.add(place, `S${randomBytes(16).toString("hex")}`);
  }

  /** A secret with another form, of which the search is to know. */
  add(place: string, secret: string): string {
    this.values.set(place, secret);
    for (let start = 0; start + FRAGMENT_LENGTH <= secret.length; start += FRAGMENT_LENGTH) {
      this.fragments.set(secret.slice(start, start + FRAGMENT_LENGTH), place);
    }
    return secret;
  }

  /** The places whose secrets, or parts of them, stand in the text. */
  findIn(text: string): string[] {
    const found = new Set<string>();
    for (const run of candidatesIn(text)) {
      for (let start = 0; start + FRAGMENT_LENGTH <= run.length; start++) {
        const place = this.fragments.get(run.slice(start, start + FRAGMENT_LENGTH));
        if (place !== undefined) found.add(place);
      }
    }
    return [...found];
  }
}

/** Notes what is shown, told and reported; `stop()` gives the console and the channels back. */
export class Witness {
  looks = 0;
  /** Texts and the first place where each was seen. */
  private readonly seen = new Map<string, string>();
  private readonly restore: (() => void)[] = [];
  /** Reads the metrics of all clients. */
  private collect: () => void = () => {};

  constructor(private readonly secrets: Secrets) {}

  /** Listens to tracers, warnings and the console of this process. */
  listen(): this {
    this.listenToChannels();
    this.listenToTelemetry();
    const onWarning = (warning: Error): void => this.note("warning", warning);
    process.on("warning", onWarning);
    this.restore.push(() => process.off("warning", onWarning));
    for (const method of CONSOLE_METHODS) {
      const original = console[method];
      console[method] = (...args: unknown[]): void => this.take("console", format(...args));
      this.restore.push(() => {
        console[method] = original;
      });
    }
    return this;
  }

  stop(): void {
    for (const undo of this.restore.splice(0)) undo();
  }

  /** Looks at a value in every way in which it may get into a log. */
  note(where: string, value: unknown): void {
    this.take(where, format("%s %o %O", value instanceof Error ? value : "", value, value));
    for (const text of shownOf(value)) this.take(where, text);
    if (value instanceof Error) this.noteError(where, value);
  }

  /** Looks through a value as if nothing had a way of its own to be shown. */
  noteBare(where: string, value: unknown): void {
    for (const text of shownOf(value, false)) this.take(where, text);
  }

  /** Notes how a call ends; a failure is no harm. */
  async call(where: string, work: () => unknown): Promise<void> {
    try {
      const result = await work();
      if (Array.isArray(result)) for (const row of result) this.noteRow(where, row);
    } catch (error) {
      this.note(where, error);
    }
  }

  /** A place of a secret and where it was seen, each once. */
  leaks(): string[] {
    this.collect();
    const leaks = new Set<string>();
    for (const [text, where] of this.seen) {
      for (const place of this.secrets.findIn(text)) leaks.add(`${place} in ${where}`);
    }
    this.seen.clear();
    return [...leaks].sort();
  }

  /** A piece of text that somebody may read. */
  take(where: string, text: string): void {
    this.looks++;
    if (!this.seen.has(text)) this.seen.set(text, where);
  }

  private noteRow(where: string, row: unknown): void {
    if (Array.isArray(row) && row[0] instanceof Error) this.note(where, row[0]);
  }

  private noteError(where: string, error: Error): void {
    const { stack, message, command, previousErrors } = error as Error & {
      command?: { name: string; args: unknown[] };
      previousErrors?: Error[];
    };
    this.take(`${where}: message`, `${message} ${String(error)}`);
    this.take(`${where}: stack`, String(stack));
    if (command !== undefined) this.take(`${where}: command`, `${command.name} ${command.args.join(" ")}`);
    this.take(`${where}: JSON`, JSON.stringify(error) + JSON.stringify({ ...error }));
    for (const previous of previousErrors ?? []) this.note(`${where}: previous`, previous);
    if (error.cause !== undefined) this.note(`${where}: cause`, error.cause);
  }

  private listenToChannels(): void {
    for (const name of CHANNELS) {
      const channel = tracingChannel(name);
      const handlers = Object.fromEntries(
        TRACE_EVENTS.map((event) => [
          event,
          (context: object) => this.take(`trace ${name}`, format("%o", context)),
        ]),
      ) as unknown as Parameters<TracingChannel["subscribe"]>[0];
      channel.subscribe(handlers);
      this.restore.push(() => void channel.unsubscribe(handlers));
    }
    for (const name of MESSAGES) {
      const onMessage = (message: unknown): void => this.take(name, format("%o", message));
      subscribe(name, onMessage);
      this.restore.push(() => void unsubscribe(name, onMessage));
    }
  }

  /** Spans and metrics of `sluice/otel`, with the most that they can show. */
  private listenToTelemetry(): void {
    const span = { setStatus: (status: unknown) => this.take("span", format("%o", status)), end: () => {} };
    const startSpan = (name: string, options: unknown): unknown => {
      this.take("span", format("%s %o", name, options));
      return span;
    };
    const tracerProvider = { getTracer: () => ({ startSpan }) } as unknown as TracerProvider;
    const { disable } = instrument({ tracerProvider, meterProvider: this.makeMeters(), queryText: "keys" });
    this.restore.push(disable);
  }

  /** Notes what each record and each collection says. */
  private makeMeters(): MeterProvider {
    const record = (_value: number, attributes?: Attributes): void =>
      this.take("metric", format("%o", attributes));
    const observable = (name: string): { name: string } => ({ name });
    const observe = ({ name }: { name: string }, _value: number, attributes?: Attributes): void =>
      this.take(`metric ${name}`, format("%o", attributes));
    const meter = {
      createHistogram: () => ({ record }),
      createObservableCounter: observable,
      createObservableUpDownCounter: observable,
      createObservableGauge: observable,
      addBatchObservableCallback: (callback: BatchObservableCallback): void => {
        this.collect = () => void callback({ observe: observe as never });
      },
      removeBatchObservableCallback: (): void => {
        this.collect = () => {};
      },
    };
    return { getMeter: () => meter as never };
  }
}

/**
 * The text that `util.inspect` shows at any depth, hidden and symbol properties included. Each object is
 * looked at once: one call with a great depth repeats what can be reached in several ways, and
 * takes for ever with a socket.
 */
function shownOf(root: unknown, isCustom = true): string[] {
  const texts: string[] = [];
  const visited = new Set<unknown>();
  const waiting: unknown[] = [root];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value === "string") texts.push(value);
    if (typeof value !== "object" || value === null || visited.has(value)) continue;
    visited.add(value);
    const isShownByItself =
      isCustom && typeof (value as Record<symbol, unknown>)[inspect.custom] === "function";
    if (isShownByItself) texts.push(inspect(value, { depth: 20, showHidden: true, maxStringLength: null }));
    else if (ArrayBuffer.isView(value)) texts.push(inspect(value));
    else waiting.push(...partsOf(value));
  }
  return texts;
}

function partsOf(value: object): unknown[] {
  const parts: unknown[] = [];
  for (const key of Reflect.ownKeys(value)) {
    const descriptor = Object.getOwnPropertyDescriptor(value, key);
    if (descriptor !== undefined && "value" in descriptor) parts.push(descriptor.value);
  }
  if (value instanceof Map) parts.push(...value.keys(), ...value.values());
  if (value instanceof Set) parts.push(...value);
  return parts;
}
