/** The combinations that a behaviour runs on. */

import type { ServerKind } from "../../scripts/servers/find-server";
import { isChosen } from "../support/matrix";
import type { Behaviour, Combination } from "./behaviour";

const SHAPES = [
  { protocol: 2, replyMapping: "legacy" },
  { protocol: 3, replyMapping: "legacy" },
  { protocol: 3, replyMapping: "resp3" },
] as const;

export function combinationsOf({ limits }: Behaviour, allKinds: readonly ServerKind[]): Combination[] {
  const kinds = limits.isAlone ? allKinds.slice(0, 1) : allKinds;
  const shapes = limits.isAlone ? SHAPES.slice(1, 2) : SHAPES;
  return kinds
    .flatMap((kind) =>
      shapes.flatMap((shape) => [false, true].map((autoPipelining) => ({ kind, ...shape, autoPipelining }))),
    )
    .filter(isChosen)
    .filter(
      (one) =>
        (limits.protocol === undefined || limits.isAlone || limits.protocol === one.protocol) &&
        (limits.replyMapping === undefined || limits.replyMapping === one.replyMapping) &&
        (limits.autoPipelining === undefined || limits.autoPipelining === one.autoPipelining),
    );
}

export function titleOf({ kind, protocol, replyMapping, autoPipelining }: Combination): string {
  return `${kind} ${protocol}-${replyMapping}${autoPipelining ? " auto" : ""}`;
}
