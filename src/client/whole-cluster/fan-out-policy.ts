/** The nodes that must receive a call, and how their replies are combined, by the command tips of the server. */

import type { CommandSpec } from "../../command/command-spec";
import { tipsFor } from "../../command/command-table";
import type { Argument } from "../../protocol/resp-types";

/** The servers that receive a command when it is fanned out. */
export type RequestPolicy = "default" | "all_nodes" | "all_shards" | "multi_shard" | "special";
/** How the replies of a fan-out are combined. */
export type ResponsePolicy =
  | "default"
  | "one_succeeded"
  | "all_succeeded"
  | "agg_logical_and"
  | "agg_logical_or"
  | "agg_min"
  | "agg_max"
  | "agg_sum"
  | "special";

export interface FanOutPolicy {
  readonly request: RequestPolicy;
  readonly response: ResponsePolicy;
}

export function fanOutPolicyFor(spec: CommandSpec, args: readonly Argument[]): FanOutPolicy {
  const [request, response] = tipsFor(spec, args).split(" ");
  return {
    request: (request || "default") as RequestPolicy,
    response: (response ?? "default") as ResponsePolicy,
  };
}
