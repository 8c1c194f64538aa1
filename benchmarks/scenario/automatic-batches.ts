/** Automatic pipelining beside the default: callers and commands at their own pace, over connections with a round trip. */

import type { SideName } from "../sides/all-sides";
import type { ConnectChoices } from "../sides/side";
import { CPU, OPS, P50, P99, type Scenario } from "../support/scenario";
import { measureBeside, measureRoundTrips, type RoundTripRow } from "./round-trips";

export const DELAYS_MS: readonly number[] = [0, 1, 10];
const CALLERS: readonly number[] = [10, 100, 1000];
const PER_SECOND = 5000;

interface Mode {
  readonly id: string;
  readonly title: string;
  readonly choices: ConnectChoices;
  readonly sides: readonly SideName[];
  /** Takes turns with the option off. */
  readonly isBesideOff?: true;
}

interface BatchesRow extends RoundTripRow {
  readonly isBesideOff?: true | undefined;
}

const OFF: ConnectChoices = { autoPipelining: false };
const MODES: readonly Mode[] = [
  {
    id: "off",
    title: "off",
    choices: OFF,
    sides: ["sluice", "before"],
  },
  { id: "true", title: "true", choices: { autoPipelining: true }, sides: ["sluice", "before", "ioredis"] },
  {
    id: "adaptive",
    title: "adaptive",
    choices: { autoPipelining: true, maxInFlight: "adaptive" },
    sides: ["sluice", "before"],
    isBesideOff: true,
  },
];

export const LOADS = [
  ...CALLERS.flatMap((width) =>
    (["mixed16", "mixed1k"] as const).map((operations) => ({
      id: `callers-${width}-${operations}`,
      title: `${width} callers, ${operations === "mixed16" ? "16 B" : "1 KiB"}`,
      kind: "callers" as const,
      width,
      operations,
    })),
  ),
  {
    id: "pace",
    title: `${PER_SECOND.toLocaleString("en")} a second, 16 B`,
    kind: "arrivals" as const,
    width: PER_SECOND,
    operations: "mixed16" as const,
  },
];

export const automaticBatches: Scenario<BatchesRow> = {
  id: "automatic-batches",
  /** With fewer, ratios of rows that are level scatter by more than the goals allow. */
  rounds: 10,
  comparedBy: ({ kind, width, operations, delayMs }) => [kind, width, operations, delayMs].join(),
  title: "Automatic pipelining",
  about:
    "The option off, `true` (one unanswered batch) and `adaptive`. Callers issue the next command after each reply. Arrivals come at a fixed rate. A proxy adds the round trip.",
  columns: [OPS, CPU, P50, P99],
  rows: LOADS.flatMap((load) =>
    DELAYS_MS.flatMap((delayMs) =>
      MODES.map(({ id, title, choices, sides, isBesideOff }) => ({
        ...load,
        id: `auto-${load.id}-${delayMs}ms-${id}`,
        title: `${load.title}, ${delayMs} ms, ${title}`,
        delayMs,
        choices,
        sides,
        isBesideOff,
      })),
    ),
  ),
  measure: (row, context) =>
    row.isBesideOff ? measureBeside(row, OFF, context) : measureRoundTrips(row, context),
};
