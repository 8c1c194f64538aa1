/** Decides whether the links of a client follow announced maintenance. The code for it is loaded only then. */

import type { LinkDeps, MoverMaker } from "../link/link-options";
import type { MaintenanceReport } from "../maintenance/mover";

export type { MaintenanceReport };

export interface MaintenanceOptions {
  readonly maintenance?: "auto" | "on" | false | undefined;
  readonly host?: string | undefined;
  readonly path?: string | null | undefined;
  readonly protocol?: number | undefined;
  readonly monitor?: boolean | undefined;
}

/** Receives the events of maintenance. */
export interface MaintenanceListener {
  onMaintenance(report: MaintenanceReport): void;
  onSlotsMoved(): void;
}

/** Names of servers that announce maintenance: Redis Cloud, Azure Managed Redis, Azure Cache for Redis Enterprise. */
const MANAGED =
  /\.(?:redis-cloud\.com|redislabs\.com|redis\.azure\.net|redisenterprise\.cache\.azure\.net)$/i;

/** Null if the client does not follow maintenance. */
export function moverMaker(
  options: MaintenanceOptions,
  deps: LinkDeps,
  listener: MaintenanceListener,
): MoverMaker | null {
  const { maintenance = "auto", host, path, protocol, monitor } = options;
  const isKnown = maintenance === "auto" && MANAGED.test(host ?? "");
  if ((maintenance !== "on" && !isKnown) || path || monitor || protocol === 2) return null;
  return (link) => {
    const parts = require("../maintenance/mover") as typeof import("../maintenance/mover");
    return new parts.Mover(link, deps, {
      isRequired: maintenance === "on",
      onReport: (report) => listener.onMaintenance(report),
      onSlotsMoved: () => listener.onSlotsMoved(),
    });
  };
}
