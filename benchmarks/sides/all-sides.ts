/**
 * Every side by name. A sample process loads the library of its own side and no other.
 */

import path from "node:path";
import { projectRoot } from "../support/project";
import { GlideSide } from "./glide-side";
import { type IoredisLikeClass, IoredisSide } from "./ioredis-side";
import { NodeRedisSide } from "./node-redis-side";
import { PromisedSocketSide } from "./promised-socket-side";
import { RawSide } from "./raw-side";
import type { Side } from "./side";

/** In the order of tables. `before` is another build of sluice, given with --before; `sluice-turn` writes once a turn. */
export const SIDE_NAMES = [
  "sluice",
  "sluice-turn",
  "before",
  "ioredis",
  "iovalkey",
  "redis",
  "redis-nt",
  "glide",
  "raw",
  "raw+p",
] as const;

export type SideName = (typeof SIDE_NAMES)[number];

/** The side that ratios refer to. */
export const REFERENCE_SIDE: SideName = "ioredis";
export const PEER_SIDES: readonly SideName[] = ["ioredis", "iovalkey", "redis", "redis-nt", "glide"];
export const BARE_SIDES: readonly SideName[] = ["raw", "raw+p"];
export const CLIENT_SIDES: readonly SideName[] = ["sluice", "before", ...PEER_SIDES];

export function isSideName(name: string): name is SideName {
  return (SIDE_NAMES as readonly string[]).includes(name);
}

export function createSide(name: SideName): Side {
  switch (name) {
    case "sluice":
    case "before":
    case "ioredis":
    case "iovalkey":
      return new IoredisSide(name, () => ioredisClassOf(name));
    case "sluice-turn":
      return new IoredisSide(name, () => ioredisClassOf(name), "turn");
    case "redis":
      return new NodeRedisSide(name, true);
    case "redis-nt":
      return new NodeRedisSide(name, false);
    case "glide":
      return new GlideSide();
    case "raw":
      return new RawSide();
    case "raw+p":
      return new PromisedSocketSide();
  }
}

/** The module of a side with the ioredis API; `file` is another one of its build. */
export function loadBuild(folder: string, file = "index"): IoredisLikeClass {
  return require(path.join(folder, file)) as IoredisLikeClass;
}

export function buildOf(name: SideName): string {
  return name === "before" ? (process.env.BENCH_BEFORE as string) : path.join(projectRoot, "built");
}

/** The class of a client with the ioredis API. */
export function ioredisClassOf(name: SideName): IoredisLikeClass {
  return name === "ioredis" || name === "iovalkey"
    ? (require(name) as IoredisLikeClass)
    : loadBuild(buildOf(name));
}

/** The npm package that a side stands for, if any: for its version and its size. */
export function packageOf(name: SideName): string | undefined {
  switch (name) {
    case "ioredis":
    case "iovalkey":
    case "redis":
      return name;
    case "redis-nt":
      return "redis";
    case "glide":
      return "@valkey/valkey-glide";
    default:
      return undefined;
  }
}
