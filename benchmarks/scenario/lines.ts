/** The single server over other transports than plain TCP: TLS, and a unix socket. */

import type { SideName } from "../sides/all-sides";
import { type LoadRow, measureLoad } from "../support/measure-load";
import { LOAD_COLUMNS, type Scenario } from "../support/scenario";

const SIDES: readonly SideName[] = ["sluice", "before", "ioredis", "iovalkey", "redis-nt"];
const TITLES = { tls: "TLS", unix: "unix socket" } as const;

export const lines: Scenario<LoadRow> = {
  id: "lines",
  rounds: 1,
  title: "TLS and unix sockets",
  about:
    "The same server over TLS and over a Unix socket: one caller, 50 callers, and pipelines of 1,000, with alternating SETs and GETs. With TLS, every write is at least one record, so few large writes gain twice.",
  columns: LOAD_COLUMNS,
  rows: (["tls", "unix"] as const).flatMap((line): LoadRow[] => {
    const common = { sides: SIDES, line, operations: "mixed16" } as const;
    return [
      { id: `${line}-awaited`, title: `${TITLES[line]}, awaited`, kind: "callers", width: 1, ...common },
      {
        id: `${line}-flight-50`,
        title: `${TITLES[line]}, 50 in flight`,
        kind: "callers",
        width: 50,
        ...common,
      },
      {
        id: `${line}-pipeline-1000`,
        title: `${TITLES[line]}, pipeline of 1,000`,
        kind: "batches",
        width: 1000,
        ...common,
      },
    ];
  }),
  measure: measureLoad,
};
