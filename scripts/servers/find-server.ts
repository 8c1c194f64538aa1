/** Extends a module of the test kit by one more kind of server: the project's own test server. */

import "./cache-directory";
import { join } from "node:path";
import * as kit from "../../testing/src/real/find-server";
import { checkoutDirectory } from "./cache-directory";
import { describeBinary, type ServerBinary } from "./server-binary";

export * from "../../testing/src/real/find-server";

export const ServerKind = {
  ...kit.ServerKind,
  /** The test server as a process of its own. */
  Test: "test",
} as const;
export type ServerKind = (typeof ServerKind)[keyof typeof ServerKind];

/** The kinds that a test runs on unless it is told otherwise. */
export const REAL_KINDS: readonly kit.ServerKind[] = Object.values(kit.ServerKind);

/** A binary of one kind, downloaded or installed if need be. Rejects with what was tried. */
export function findServer(kind: ServerKind, log?: kit.Log): Promise<ServerBinary> {
  if (kind !== ServerKind.Test) return kit.findServer(kind, log);
  return describeBinary(
    join(checkoutDirectory(), "scripts", "servers", "test-server.mjs"),
    "of this checkout",
  );
}

const ANSWERS_AS: Readonly<Record<string, kit.ServerKind>> = {
  "7.0": kit.ServerKind.Redis,
  "8.2": kit.ServerKind.Redis8,
  "valkey-9.1": kit.ServerKind.Valkey,
};

/** The real kind whose replies are expected. The test server replies like the real server of its version. */
export function answersAs(kind: ServerKind): kit.ServerKind {
  if (kind !== ServerKind.Test) return kind;
  return ANSWERS_AS[process.env.SLUICE_TEST_SERVER ?? "8.2"] ?? kit.ServerKind.Redis8;
}
