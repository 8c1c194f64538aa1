/**
 * Reads the push messages with which a managed server announces maintenance. An unreadable notice is null, because
 * the client works without it.
 *
 *   MOVING seq seconds host:port|null              the server closes this connection
 *   MIGRATING seq seconds shards                   MIGRATED seq shards
 *   FAILING_OVER seq seconds shards                FAILED_OVER seq shards
 *   SMIGRATING seq slots                           SMIGRATED seq [[source, target, slots], ...]
 */

import { SLOT_COUNT } from "../command/slot";
import type { Reply } from "../protocol/resp-types";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Maintenance that slows replies down until its end is announced, with the notice of the end. */
export const ENDS = {
  MIGRATING: "MIGRATED",
  FAILING_OVER: "FAILED_OVER",
  SMIGRATING: "SMIGRATED",
} as const;

export type BeginKind = keyof typeof ENDS;
export type EndKind = (typeof ENDS)[BeginKind];
export type NoticeKind = "MOVING" | BeginKind | EndKind;

/** Slots that a node of a cluster has handed over. */
export interface SlotMove {
  readonly source: Address;
  readonly target: Address;
  /** Both ends included. */
  readonly ranges: readonly (readonly [from: number, to: number])[];
}

export interface Notice {
  readonly kind: NoticeKind;
  /** Numbers the notices of a database, across all kinds. */
  readonly seq: number;
  /** As sent by the server; may be 0 or negative. */
  readonly seconds: number;
  /** For MOVING: the server to connect to; null if the notice does not name it. */
  readonly target: Address | null;
  /** For SMIGRATED: the slots that have moved. */
  readonly moves: readonly SlotMove[];
}

const KINDS: ReadonlySet<string> = new Set(["MOVING", ...Object.entries(ENDS).flat()]);

/** Whether a push message is about maintenance. */
export function isNotice(kind: string): boolean {
  return KINDS.has(kind);
}

export function readNotice([kind, seq, seconds, target]: readonly Reply[]): Notice | null {
  const number = Number(String(seq));
  if (!isNotice(String(kind)) || !Number.isSafeInteger(number)) return null;
  const length = Number(String(seconds));
  return {
    kind: String(kind) as NoticeKind,
    seq: number,
    seconds: Number.isFinite(length) ? length : 0,
    target: String(kind) === "MOVING" && target ? readAddress(String(target)) : null,
    moves: String(kind) === "SMIGRATED" ? readMoves(seconds) : [],
  };
}

function readMoves(rows: Reply | undefined): SlotMove[] {
  const moves: SlotMove[] = [];
  for (const row of Array.isArray(rows) ? rows : []) {
    if (!Array.isArray(row)) continue;
    const [source, target] = row.slice(0, 2).map((one) => readAddress(String(one)));
    const ranges = String(row[2])
      .split(",")
      .map(readRange)
      .filter((range) => range !== null);
    if (source && target) moves.push({ source, target, ranges });
  }
  return moves;
}

function readRange(text: string): [from: number, to: number] | null {
  const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(text.trim()) ?? [];
  const [from, to] = [Number(first), Number(last)];
  return from <= to && to < SLOT_COUNT ? [from, to] : null;
}

/** The port follows the last colon. An IPv6 address may be in brackets. */
function readAddress(text: string): Address | null {
  const colon = text.lastIndexOf(":");
  const host = text.slice(0, Math.max(0, colon)).replace(/^\[(.*)\]$/, "$1");
  const port = Number(text.slice(colon + 1));
  return host !== "" && Number.isInteger(port) && port > 0 && port < 65_536 ? { host, port } : null;
}
