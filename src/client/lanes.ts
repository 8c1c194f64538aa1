/** Builds the lanes of a client. Their code is loaded by those who ask for them. */

import type { Command } from "../command/command";
import type { LaneSet } from "../lanes/lane-set";
import type { Link } from "../link/link";
import type { LinkDeps } from "../link/link-options";
import type { ConnectionsOption } from "./options/common-options";

/** The events of the client. */
interface LaneEvents {
  readonly supervisor: { onStatus?(status: "reconnecting" | "ready"): void } | null;
  settleWaiting(commands: readonly Command[]): void;
}

interface LaneOptions {
  readonly connections?: ConnectionsOption | null | undefined;
  readonly monitor?: boolean | undefined;
}

/** The lanes that the options ask for; null for one connection. What MONITOR prints needs no more. */
export function openLanes(
  { connections, monitor }: LaneOptions,
  events: LaneEvents,
  deps: LinkDeps,
  makeLink: (deps: LinkDeps) => Link,
): LaneSet | null {
  const lanes = connections?.lanes ?? 1;
  const hasBulk = (connections?.bulk ?? 0) > 0;
  if ((lanes === 1 && !hasBulk) || monitor === true) return null;
  const parts = require("../lanes/lane-set") as typeof import("../lanes/lane-set");
  return new parts.LaneSet(
    { lanes, hasBulk },
    {
      deps,
      makeLink,
      onLaneStatus: (status) => events.supervisor?.onStatus?.(status),
      settleWaiting: (commands) => events.settleWaiting(commands),
    },
  );
}
