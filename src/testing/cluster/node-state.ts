/**
 * What a node of a cluster adds to a server: which commands it may run and where others go.
 */

import type { ReplyValue } from "../protocol/reply";
import type { CommandEntry } from "../server/command-table";
import type { Session } from "../server/session";

export interface NodeState {
  readonly isReplica: boolean;
  readonly replicaCount: number;
  /** Throws MOVED, ASK, TRYAGAIN, CROSSSLOT or CLUSTERDOWN if the command is not for this node. */
  route(session: Session, entry: CommandEntry, args: readonly string[]): void;
  /** The answer of ROLE. */
  role(): ReplyValue;
}
