/** The option `failover`: its types, and the databases in it. */

import { OptionError } from "../errors";
import type { CredentialsProvider } from "../link/credential-provider";
import { LINK_DEFAULTS } from "../link/link-defaults";
import type { TlsSource } from "../link/socket-options";
import { hideSecrets } from "../observability/redact";
import { checkSettings, type SettingChecks } from "../util/check-settings";

/** One of several databases with the same data. */
export interface FailoverDatabase {
  /** Address with login, `redis://user:password@host:port/db` or `rediss://...`. The other settings take precedence. */
  readonly url?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  /** 4, 6, or 0 for any. */
  readonly family?: number | undefined;
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
   * it. `false` disables the return. The default is 30000.
   */
  readonly failback?: number | false | undefined;
}

/** The connection options of a database. */
export interface DatabaseAddress {
  readonly host: string;
  readonly port: number;
  readonly family: number | undefined;
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
  readonly defaults: Pick<FailoverDatabase, "credentials" | "family"> & {
    readonly username?: string | null | undefined;
    readonly password?: string | null | undefined;
    readonly tls?: TlsSource | boolean | undefined;
  };
}

/** Options that also choose the server, and what to do instead. */
const OTHER_CHOICES = {
  Connector: "set the address of each database",
  sentinels: "a Sentinel group has its own failover, so use sentinels alone",
  path: "set the host of each database",
} as const;

/** Settings of other kinds of databases. */
const OTHER_KINDS: readonly string[] = ["sentinels", "nodes", "path", "replicas"];

const CHECKS: SettingChecks<FailoverSettings> = {
  databases: (value) => (Array.isArray(value) && value.length > 0 ? null : "a list of databases"),
  probe: (value) => (typeof value === "object" && value !== null ? null : "an object"),
  failback: (value) => (value === false ? null : numberFrom(0)(value)),
};
const PROBE_CHECKS: SettingChecks<ProbeOptions> = {
  intervalMs: numberFrom(1),
  timeoutMs: numberFrom(1),
  check: (value) => (typeof value === "function" ? null : "a function"),
};
/** The values may be secrets, which a message must not show. */
const anything = (): null => null;
const DATABASE_CHECKS: SettingChecks<FailoverDatabase> = {
  url: anything,
  host: anything,
  port: anything,
  family: anything,
  username: anything,
  password: anything,
  credentials: anything,
  tls: anything,
  weight: numberFrom(0),
};

/** Options of the client that contradict several databases. */
export type OtherChoices = { readonly [Name in keyof typeof OTHER_CHOICES]?: unknown } & {
  readonly replicas?: unknown;
};

/** Throws an `OptionError`. */
export function refuseOtherChoices(options: OtherChoices): void {
  for (const [name, advice] of Object.entries(OTHER_CHOICES)) {
    if (options[name as keyof typeof OTHER_CHOICES])
      throw new OptionError(`The options failover and ${name} cannot be used together: ${advice}`);
  }
  if (options.replicas && options.replicas !== true) {
    throw new OptionError(
      "The option failover allows replicas: true only, because each database reports its own replicas",
    );
  }
}

/** Throws an `OptionError`. */
export function readDatabases(settings: FailoverSettings, reader: AddressReader): ReadDatabase[] {
  checkSettings("the option failover", settings, CHECKS);
  const { databases, probe = {} } = settings;
  if (databases === undefined)
    throw new OptionError('The option "failover" needs "databases", a list of addresses');
  checkSettings("failover.probe", probe, PROBE_CHECKS);
  const found = databases.map((one: string | FailoverDatabase) => readDatabase(one, reader));
  if (new Set(found.map(({ db }) => db)).size > 1) {
    throw new OptionError("Invalid option failover.databases: all URLs must select the same database number");
  }
  return found;
}

function readDatabase(given: string | FailoverDatabase, { readUrl, defaults }: AddressReader): ReadDatabase {
  const database: FailoverDatabase = typeof given === "string" ? { url: given } : given;
  const kind = Object.keys(database).find((name) => OTHER_KINDS.includes(name));
  if (kind !== undefined) {
    throw new OptionError(
      `Invalid option failover.databases: "${kind}" is not supported, because each database is the address of one server. Sentinel groups and clusters have their own failover; for reads from replicas set the option replicas of the client to true`,
    );
  }
  checkSettings("failover.databases", database, DATABASE_CHECKS);
  const { url, weight = 1, credentials: provider } = database;
  if (provider !== undefined && typeof provider !== "function")
    throw new OptionError("Invalid credentials of failover.databases: expected a function");
  const inUrl =
    url === undefined ? {} : (readUrl(url) as Partial<DatabaseAddress> & { path?: string; db?: number });
  const { host, port, family, username, password, credentials } = { ...inUrl, ...definedIn(database) };
  if (inUrl.path !== undefined || host === undefined) {
    throw new OptionError(
      "Invalid option failover.databases: each database needs a host or a url with a host",
    );
  }
  return {
    address: hideSecrets({
      host,
      port: Number(port ?? LINK_DEFAULTS.port),
      family: family ?? defaults.family,
      username: username ?? defaults.username ?? null,
      password: password ?? defaults.password ?? null,
      credentials: credentials ?? defaults.credentials,
      // The scheme of a URL enables TLS, and the option `tls` of the client configures it.
      tls: database.tls ?? (defaults.tls || inUrl.tls),
    }),
    weight,
    db: inUrl.db === undefined ? undefined : Number(inUrl.db),
  };
}

function definedIn(database: FailoverDatabase): Partial<FailoverDatabase> {
  return Object.fromEntries(Object.entries(database).filter(([, value]) => value !== undefined));
}

function numberFrom(least: number): (value: unknown) => string | null {
  return (value) => (typeof value === "number" && value >= least ? null : `a number from ${least} on`);
}
