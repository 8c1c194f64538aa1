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

/** In the order of tables. `before` is another build of sluice, given with --before. */
export const SIDE_NAMES = [
  "sluice",
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
      return new IoredisSide(name, () => loadBuild(path.join(projectRoot, "built")));
    case "before":
      return new IoredisSide(name, () => loadBuild(process.env.BENCH_BEFORE as string));
    case "ioredis":
    case "iovalkey":
      return new IoredisSide(name, () => require(name) as IoredisLikeClass);
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

function loadBuild(folder: string): IoredisLikeClass {
  return require(folder) as IoredisLikeClass;
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
