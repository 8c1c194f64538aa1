/**
 * Calls that concern the whole cluster: a command on every node of a role, and scans of all masters. The
 * failure of one node does not hide the replies of the others. Commands do not follow redirects, which count
 * as errors.
 */

import type { ClusterNode } from "../../cluster/cluster-node";
import type { CommandSpec } from "../../command/command-spec";
import { specOf } from "../../command/command-table";
import { type Commander, EXECUTE } from "../../command/commander";
import { OptionError } from "../../errors";
import type { Argument } from "../../protocol/resp-types";
import type { ScanStreamOptions } from "../../streaming/scan-stream";
import {
  booleanOnly,
  checkArgument,
  checkSettings,
  keyOnly,
  oneOf,
  type SettingChecks,
  wholeFrom,
} from "../../util/check-settings";
import { toError } from "../../util/user-code";
import type { ClusterWiring } from "../cluster/cluster-wiring";
import type { CallLimits } from "../command-limits";
import { argumentsOfScan } from "../streaming/streams";
import { foldFor, valuesOf } from "./aggregate";
import { type ScanReply, scannerOf } from "./cluster-scanner";
import { fanOutPolicyFor } from "./fan-out-policy";

export { openClusterKeyspaceEvents } from "./cluster-keyspace";
export { scannerOf };

const ROLES = ["masters", "replicas", "all"] as const;

export interface OnAllOptions extends Pick<CallLimits, "timeout" | "signal" | "retry"> {
  /** Nodes that receive the command. Default "masters". */
  nodes?: (typeof ROLES)[number] | undefined;
  /** Returns strings as Buffers. Default false. */
  buffers?: boolean | undefined;
}

/** The outcomes of a command on several nodes. The keys of both maps are node names, `host:port`. */
export interface NodeReplies<Value = unknown> {
  readonly replies: ReadonlyMap<string, Value>;
  readonly errors: ReadonlyMap<string, Error>;
  /**
   * One reply, combined by the rule that servers publish for the command: the sum of DBSIZE, the joined lists of KEYS,
   * the common OK of FLUSHALL. Throws the first error, and an `OptionError` for a command without a rule.
   */
  merged(): Value;
}

export type ScanPageOptions = Pick<ScanStreamOptions, "match" | "type" | "count">;

const ON_ALL_CHECKS: SettingChecks<OnAllOptions> = {
  nodes: oneOf(...ROLES),
  buffers: booleanOnly,
  // Checked by `with()`.
  timeout: () => null,
  signal: () => null,
  retry: () => null,
};
const SCAN_CHECKS: SettingChecks<ScanPageOptions> = {
  match: keyOnly,
  type: (value) => (typeof value === "string" ? null : "the name of a type"),
  count: (value) => wholeFrom(1)(typeof value === "string" ? Number(value) : value),
};

/** Throws an `OptionError`. */
export function checkCall(command: unknown, args: unknown, options: OnAllOptions): void {
  const isText = typeof command === "string" && command !== "";
  checkArgument("onAll()", "command", command, () => (isText ? null : "the name of a command"));
  checkArgument("onAll()", "args", args, () => (Array.isArray(args) ? null : "a list of arguments"));
  checkSettings("onAll()", options, ON_ALL_CHECKS);
}

/** Sends a command to every node of a role. */
export async function onAll(
  wiring: ClusterWiring,
  name: string,
  args: readonly unknown[],
  { nodes = "masters", buffers = false, ...limits }: OnAllOptions,
): Promise<NodeReplies> {
  const spec = specOf(name);
  const replies = new Map<string, unknown>();
  const errors = new Map<string, Error>();
  const ask = async ({ key }: ClusterNode, view: Commander): Promise<void> => {
    try {
      replies.set(key, await view[EXECUTE](spec, [...args], buffers));
    } catch (error) {
      errors.set(key, toError(error));
    }
  };
  // The slot table may lack new nodes. If the refresh fails, the command is sent to the known nodes.
  await wiring.refresher.refresh(false).catch(() => {});
  const views = Array.from(
    nodesOf(wiring, nodes),
    (node) => [node, wiring.openView(node).with(limits)] as const,
  );
  await Promise.all(views.map((view) => ask(...view)));
  return { replies, errors, merged: () => merge(spec, args, [...replies.values()], [...errors.values()]) };
}

/** One page of a scan over all masters. */
export async function scanPage(
  wiring: ClusterWiring,
  untilReady: () => Promise<unknown>,
  cursor: string,
  options: ScanPageOptions,
): Promise<[cursor: string, keys: string[]]> {
  checkSettings("scanPage()", options, SCAN_CHECKS);
  const page: ScanReply = await scannerOf(wiring, untilReady).scan(cursor, ...argumentsOfScan(options));
  return page as [string, string[]];
}

/** Also nodes that have no connection at present. */
function nodesOf({ slots, pool }: ClusterWiring, nodes: (typeof ROLES)[number]): Set<ClusterNode> {
  const found = new Set<ClusterNode>();
  const owners = [...slots.owners().keys()];
  if (nodes !== "replicas") for (const node of [...owners, ...pool.list("master")]) found.add(node);
  if (nodes !== "masters") {
    const replicas = owners.flatMap(({ shard }) => shard?.replicas ?? []);
    for (const node of [...replicas, ...pool.list("slave")]) found.add(node);
  }
  return found;
}

function merge(
  spec: CommandSpec,
  args: readonly unknown[],
  replies: readonly unknown[],
  errors: readonly Error[],
): unknown {
  const policy = fanOutPolicyFor(spec, args as readonly Argument[]);
  const fold = policy.request === "default" ? null : foldFor(policy.response, spec.lowerName);
  if (fold === null) {
    throw new OptionError(
      `No rule combines the replies of "${spec.lowerName}" from several nodes: read them from "replies"`,
    );
  }
  const answers = [
    ...replies.map((value) => ({ value, error: null })),
    ...errors.map((error) => ({ value: null, error })),
  ];
  return answers.length === 0 ? valuesOf(answers) : fold(answers);
}
