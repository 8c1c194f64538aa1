/**
 * Builds the chain of dispatchers that the options ask for, from the bottom upwards:
 *
 *   [Admission ->] [BlockingLease ->] [AutoPipeliner ->] bottom (a link or a cluster router)
 */

import type { Dispatcher } from "../command/dispatcher";
import { Admission, type Bounds } from "../link/admission";
import { BlockingLease, type BlockingLeaseOptions } from "../link/blocking-lease";
import { AutoPipeliner } from "../pipeline/auto-pipeliner";
import { type AutoPipeliningOptions, autoPipelinerOptions } from "./auto-pipelining";

export interface ChainOptions extends AutoPipeliningOptions {
  readonly bounds?: Bounds | undefined;
  /** Most extra connections for blocking commands; 0 = none. */
  readonly blockingConnections?: number | undefined;
}

/** Where a client keeps its chain. */
export const PARTS: unique symbol = Symbol("parts");

export interface Chain {
  readonly top: Dispatcher;
  readonly auto: AutoPipeliner | null;
  readonly lease: BlockingLease | null;
  /** Hands everything that is held back on to the bottom: the client is closing. */
  letGo(): void;
}

export function buildChain(
  bottom: Dispatcher,
  options: ChainOptions,
  lines: Omit<BlockingLeaseOptions, "maxLines"> & { onGivenUp?(): void },
): Chain {
  const window = autoPipelinerOptions(options);
  const auto = window === null ? null : new AutoPipeliner(bottom, { ...window, onGivenUp: lines.onGivenUp });
  const gathered = auto ?? bottom;
  const maxLines = options.blockingConnections ?? 0;
  const lease = maxLines > 0 ? new BlockingLease(gathered, { ...lines, maxLines }) : null;
  const leased = lease ?? gathered;
  const admission =
    options.bounds === undefined ? null : new Admission(leased, options.bounds, lines.onGivenUp);
  const letGo = (): void => {
    admission?.letGo();
    auto?.flush();
  };
  return { top: admission ?? leased, auto, lease, letGo };
}
