/**
 * Decides whether the links of a client follow announced maintenance, or the active one of several databases. The code for
 * it is loaded only then.
 */

import type { FailoverConnector } from "../../failover/failover-connector";
import type { MoverMaker } from "../../link/link";
import type { LinkDeps } from "../../link/link-options";
import type { MaintenanceReport } from "../../maintenance/mover";
import type { Notice } from "../../maintenance/notices";
import { LatePart } from "../../util/late-part";

export type { MaintenanceReport, Notice };

export interface MaintenanceOptions {
  readonly maintenance?: "auto" | "on" | false | undefined;
  readonly host?: string | undefined;
  readonly path?: string | null | undefined;
  readonly protocol?: number | undefined;
  readonly monitor?: boolean | undefined;
  readonly failover?: object | undefined;
}

/** Receives the events of maintenance. */
export interface MaintenanceListener {
  onMaintenance(report: MaintenanceReport): void;
  onSlotsMoved(notice: Notice): void;
}

export const movers = new LatePart(
  "maintenance",
  () => require("../../maintenance/mover") as typeof import("../../maintenance/mover"),
);

/** Names of servers that announce maintenance: Redis Cloud, Azure Managed Redis, Azure Cache for Redis Enterprise. */
const MANAGED =
  /\.(?:redis-cloud\.com|redislabs\.com|redis\.azure\.net|redisenterprise\.cache\.azure\.net)$/i;

/**
 * Null if the links of the client are never moved. A bundle without the code does not move them, and `loadParts` refuses
 * "on" there; `sluice/with/failover` provides the code.
 */
export function moverMaker(
  options: MaintenanceOptions,
  deps: LinkDeps,
  listener: MaintenanceListener,
): MoverMaker | null {
  const { maintenance = "auto", path, protocol, monitor, failover } = options;
  // With several databases, the host changes.
  const wantsNotices = (): boolean =>
    protocol !== 2 && (maintenance === "on" || (maintenance === "auto" && MANAGED.test(options.host ?? "")));
  if ((!wantsNotices() && !failover) || path || monitor) return null;
  const part = movers.find();
  if (part === null) return null;
  return (link) => {
    const connector = failover ? (link.connector as FailoverConnector) : null;
    const mover = new part.Mover(link, deps, {
      get wantsNotices() {
        return wantsNotices();
      },
      isRequired: maintenance === "on",
      onReport: (report) => listener.onMaintenance(report),
      onSlotsMoved: (notice) => listener.onSlotsMoved(notice),
      onEnd: () => connector?.release(),
    });
    connector?.bind({
      get socket() {
        return link.connection?.socket ?? null;
      },
      get isReady() {
        return link.status === "ready";
      },
      restart: (error) => link.restart(error),
      move: () => mover.move(),
      stay: () => mover.onLost(),
    });
    return mover;
  };
}
