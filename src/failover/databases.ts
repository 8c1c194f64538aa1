/** The option `failover`: its types, and the databases in it. */

import { OptionError } from "../errors";
import type { CredentialsProvider } from "../link/credential-provider";
import type { TlsSource } from "../link/socket-options";
import { hideSecrets } from "../observability/redact";

/** One of several databases with the same data. */
export interface FailoverDatabase {
  /** Address with login, `redis://user:password@host:port/db` or `rediss://...`. The other settings have precedence. */
  readonly url?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly credentials?: CredentialsProvider | undefined;
  readonly tls?: TlsSource | undefined;
  /** The database with the greatest weight is preferred; among equals, the first. The default is 1. */
  readonly weight?: number | undefined;
}

/** How the databases are checked. */
export interface ProbeOptions {
  /** Time between two probes of a database in milliseconds. The default is 200. */
  readonly intervalMs?: number | undefined;
  /** A probe fails if its reply takes longer. In milliseconds; the default is 500. */
  readonly timeoutMs?: number | undefined;
  /** The probe: it receives a client of that database, and fails if it rejects. The default sends PING. */
  readonly check?: ((client: ProbeClient) => Promise<unknown>) | undefined;
}

/** The client that a probe uses. */
export interface ProbeClient {
  call(command: string, ...args: (string | Buffer | number)[]): Promise<unknown>;
}

export interface FailoverSettings {
  readonly databases: readonly (string | FailoverDatabase)[];
  readonly probe?: ProbeOptions | undefined;
  /**
   * Time in milliseconds for which the probes of a database with a greater weight must succeed before the client returns to
   * it. `false`: it never returns by itself. The default is 30000.
   */
  readonly failback?: number | false | undefined;
}

/** The connection options of a database. */
export interface DatabaseAddress {
  readonly host: string;
  readonly port: number;
  readonly username: string | null;
  readonly password: string | null;
  readonly credentials: CredentialsProvider | undefined;
  readonly tls: TlsSource | boolean | undefined;
}

export interface ReadDatabase {
  readonly address: DatabaseAddress;
  readonly weight: number;
  /** Undefined: the option `db` of the client. */
  readonly db: number | undefined;
}

/** Reads addresses for this layer. */
export interface AddressReader {
  /** The options in a URL. */
  readUrl(url: string): Readonly<Record<string, unknown>>;
  /** The options of the client: the login of databases that have none. */
  readonly defaults: Pick<FailoverDatabase, "credentials"> & {
    readonly username?: string | null | undefined;
    readonly password?: string | null | undefined;
    readonly tls?: TlsSource | boolean | undefined;
  };
}

const SETTINGS = ["databases", "probe", "failback"];
const NAMES = ["url", "host", "port", "username", "password", "credentials", "tls", "weight"];

/** Throws an `OptionError`. */
export function readDatabases(settings: FailoverSettings, reader: AddressReader): ReadDatabase[] {
  checkNames("failover", settings, SETTINGS);
  const { databases, probe, failback } = settings;
  if (!Array.isArray(databases) || databases.length === 0) {
    throw new OptionError("Invalid option failover.databases: expected at least one database");
  }
  if (probe !== undefined) {
    checkNames("failover.probe", probe, ["intervalMs", "timeoutMs", "check"]);
    checkNumber("failover.probe.intervalMs", probe.intervalMs, 1);
    checkNumber("failover.probe.timeoutMs", probe.timeoutMs, 1);
    checkFunction("failover.probe.check", probe.check);
  }
  if (failback !== false) checkNumber("failover.failback", failback, 0);
  const found = databases.map((one: string | FailoverDatabase) => readDatabase(one, reader));
  if (new Set(found.map(({ db }) => db)).size > 1) {
    throw new OptionError("Invalid option failover.databases: all URLs must select the same database number");
  }
  return found;
}

function readDatabase(given: string | FailoverDatabase, { readUrl, defaults }: AddressReader): ReadDatabase {
  const database: FailoverDatabase = typeof given === "string" ? { url: given } : given;
  checkNames("failover.databases", database, NAMES);
  const { url, weight = 1 } = database;
  checkNumber("failover.databases.weight", weight, 0);
  checkFunction("failover.databases.credentials", database.credentials);
  const inUrl =
    url === undefined ? {} : (readUrl(url) as Partial<DatabaseAddress> & { path?: string; db?: number });
  const { host, port, username, password, credentials, tls } = { ...inUrl, ...definedIn(database) };
  if (inUrl.path !== undefined || host === undefined) {
    throw new OptionError(
      "Invalid option failover.databases: each database needs a host or a url with a host",
    );
  }
  return {
    address: hideSecrets({
      host,
      port: Number(port ?? 6379),
      username: username ?? defaults.username ?? null,
      password: password ?? defaults.password ?? null,
      credentials: credentials ?? defaults.credentials,
      tls: tls ?? defaults.tls,
    }),
    weight,
    db: inUrl.db === undefined ? undefined : Number(inUrl.db),
  };
}

function definedIn(database: FailoverDatabase): Partial<FailoverDatabase> {
  return Object.fromEntries(Object.entries(database).filter(([, value]) => value !== undefined));
}

/** An unknown setting would leave the intended one at its default. */
function checkNames(option: string, value: unknown, names: readonly string[]): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new OptionError(`Invalid option ${option}: expected an object with ${names.join(", ")}`);
  }
  const unknown = Object.keys(value).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  throw new OptionError(`Invalid option ${option}.${unknown}: expected one of ${names.join(", ")}`);
}

function checkNumber(option: string, value: unknown, least: number): void {
  if (value === undefined || (typeof value === "number" && value >= least)) return;
  throw new OptionError(`Invalid option ${option} ${String(value)}: expected a number from ${least} on`);
}

function checkFunction(option: string, value: unknown): void {
  if (value === undefined || typeof value === "function") return;
  throw new OptionError(`Invalid option ${option}: expected a function`);
}
