/**
 * CONFIG: the parameters of the servers with their defaults. CONFIG SET keeps a value and tells it again;
 * only the parameters that the test server knows have an effect.
 */

import { matchesGlob } from "../protocol/glob";
import { ErrorReply } from "../protocol/reply";
import { parametersOf } from "./configuration-table";
import { parseClasses, printClasses } from "./keyspace-events";
import type { ServerVersion } from "./version";

const NUMERIC = /^-?\d+$/;
const YES_OR_NO: ReadonlySet<string> = new Set(["yes", "no"]);
/** They need `enable-protected-configs`. */
const PROTECTED: ReadonlySet<string> = new Set(["dir", "dbfilename"]);

const UNITS: Readonly<Record<string, number>> = {
  k: 1000,
  kb: 1024,
  m: 1000 ** 2,
  mb: 1024 ** 2,
  g: 1000 ** 3,
  gb: 1024 ** 3,
  b: 1,
};

export class Configuration {
  private values = new Map<string, string>();
  private readonly defaults = new Map<string, string>();
  private readonly fixed = new Set<string>();
  /** Letters of `notify-keyspace-events`, in the form the publisher asks for. */
  notifications = "";

  constructor(version: ServerVersion) {
    for (const { name, value, isFixed } of parametersOf(version)) {
      this.values.set(name, value);
      this.defaults.set(name, value);
      if (isFixed) this.fixed.add(name);
    }
  }

  get(name: string): string {
    return this.values.get(name) ?? "";
  }

  number(name: string): number {
    return Number(this.get(name));
  }

  /** Names and values in turn. */
  matching(patterns: readonly string[]): string[] {
    const found: string[] = [];
    for (const [name, value] of this.values) {
      if (patterns.some((pattern) => matchesGlob(pattern.toLowerCase(), name, true))) found.push(name, value);
    }
    return found;
  }

  /** Sets all parameters, or, after an error, none of them. */
  set(pairs: readonly (readonly [string, string])[]): void {
    const seen = new Set<string>();
    const parsed = pairs.map(([word, value]) => {
      const name = word.toLowerCase();
      if (!this.values.has(name)) {
        throw new ErrorReply(`ERR Unknown option or number of arguments for CONFIG SET - '${word}'`);
      }
      if (seen.has(name)) throw failure(name, "duplicate parameter");
      seen.add(name);
      if (this.fixed.has(name)) throw failure(name, "can't set immutable config");
      if (PROTECTED.has(name)) throw failure(name, "can't set protected config");
      return [name, this.parse(name, value)] as const;
    });
    for (const [name, value] of parsed) this.put(name, value);
  }

  /** For the test kit itself; checks nothing. */
  put(name: string, value: string): void {
    this.values.set(name, value);
    if (name === "notify-keyspace-events")
      this.notifications = value === "" ? "" : (parseClasses(value) ?? "");
  }

  entries(): Map<string, string> {
    return new Map(this.values);
  }

  restore(values: Map<string, string>): void {
    this.values = new Map(values);
    this.put("notify-keyspace-events", this.get("notify-keyspace-events"));
  }

  private parse(name: string, value: string): string {
    if (name === "notify-keyspace-events") {
      const letters = parseClasses(value);
      if (letters === null) throw failure(name, "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.");
      return printClasses(letters);
    }
    const old = this.defaults.get(name) ?? "";
    if (YES_OR_NO.has(old) && !YES_OR_NO.has(value.toLowerCase())) {
      throw failure(name, "argument must be 'yes' or 'no'");
    }
    if (!NUMERIC.test(old)) return value;
    const unit = /^(\d+)([a-z]*)$/i.exec(value);
    const factor = unit?.[2] ? UNITS[unit[2].toLowerCase()] : 1;
    if (unit?.[2] && factor !== undefined) return String(Number(unit[1]) * factor);
    if (!NUMERIC.test(value)) throw failure(name, "argument couldn't be parsed into an integer");
    return value;
  }
}

function failure(name: string, text: string): ErrorReply {
  return new ErrorReply(`ERR CONFIG SET failed (possibly related to argument '${name}') - ${text}`);
}
