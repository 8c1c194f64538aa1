/**
 * The versions that the test server can be, and where they differ in more than the command table.
 */

export type VersionName = "7.0" | "8.2" | "valkey-9.1";

export interface ServerVersion {
  readonly name: VersionName;
  /** In the generated command table. */
  readonly letter: "a" | "b" | "c";
  readonly product: "redis" | "valkey";
  /** As INFO says it; Valkey calls itself Redis 7.2.4 there. */
  readonly redisVersion: string;
  readonly serverVersion: string;
  /** Redis 7.2 and later, and Valkey: shortest doubles, listpacks for sets, newer messages. */
  readonly isModern: boolean;
}

const VERSIONS: readonly ServerVersion[] = [
  {
    name: "7.0",
    letter: "a",
    product: "redis",
    redisVersion: "7.0.15",
    serverVersion: "7.0.15",
    isModern: false,
  },
  {
    name: "8.2",
    letter: "b",
    product: "redis",
    redisVersion: "8.2.3",
    serverVersion: "8.2.3",
    isModern: true,
  },
  {
    name: "valkey-9.1",
    letter: "c",
    product: "valkey",
    redisVersion: "7.2.4",
    serverVersion: "9.1.0",
    isModern: true,
  },
];

export const DEFAULT_VERSION: VersionName = "8.2";

export function serverVersion(name: string): ServerVersion {
  const found = VERSIONS.find((version) => version.name === name);
  if (found !== undefined) return found;
  const known = VERSIONS.map((version) => `"${version.name}"`).join(", ");
  throw new TypeError(`TestServer has no version "${name}"; choose one of ${known}`);
}
