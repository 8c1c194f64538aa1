/**
 * Decides what a link does about maintenance, and after its connector has changed to another server. It is a
 * pure function of the state, an event and the time: it dials nothing and has no timer. `wakeAtMs` returns
 * when the event `time` is due.
 *
 *   MOVING ---> due ---> dialling ---> ready ---> (changed over)
 *                ^          |
 *                '-- failed-'        after its time and a tail, the move is given up
 */

import { type Address, ENDS, type Notice, type NoticeKind } from "./notices";

/** A planned change to another connection. */
export interface Move {
  /** `ready`: the new connection waits until the old one can be replaced. */
  readonly status: "due" | "dialling" | "ready";
  readonly target: Address | null;
  /** When the next attempt is due. */
  readonly dialAtMs: number;
  /** From this time on, the configured address is dialled. */
  readonly fallbackMs: number;
  /** From this time on, the server may close the old connection. */
  readonly endMs: number;
}

/** A period in which the server may be slow. */
interface Window {
  readonly kind: NoticeKind;
  readonly seq: number;
  readonly endMs: number;
}

export interface MaintenanceState {
  /** By kind: the sequence number of the last notice that had an effect. */
  readonly seen: Readonly<Partial<Record<NoticeKind, number>>>;
  readonly windows: readonly Window[];
  readonly move: Move | null;
}

export type MaintenanceEvent =
  | { readonly kind: "notice"; readonly notice: Notice }
  | { readonly kind: "time" }
  /** The connector now connects to another server. */
  | { readonly kind: "move" }
  | { readonly kind: "dial failed" }
  | { readonly kind: "ready" }
  | { readonly kind: "changed over" }
  | { readonly kind: "connection lost" };

export type Decision =
  /** Null: the configured address. */
  | { readonly does: "dial"; readonly address: Address | null }
  | { readonly does: "abandon dial" }
  | { readonly does: "move slots"; readonly notice: Notice };

/** Limits of an announced time: servers announce 0 s and more, and finish later than announced. */
const SHORTEST_MS = 10_000;
const LONGEST_MS = 30_000;
/** DNS and the server are late by up to 19 s. */
const TAIL_MS = 20_000;
const RETRY_MS = 500;

export const NO_MAINTENANCE: MaintenanceState = { seen: {}, windows: [], move: null };

/** Command time limits and the watchdog wait longer. */
export function isRelaxed({ windows }: MaintenanceState): boolean {
  return windows.length > 0;
}

/** When the next window or move changes without another event; Infinity: never. */
export function wakeAtMs({ windows, move }: MaintenanceState): number {
  const times = windows.map(({ endMs }) => endMs);
  if (move !== null) {
    times.push(move.endMs + TAIL_MS);
    if (move.status === "due") times.push(move.dialAtMs);
    if (move.status === "dialling" && move.target !== null) times.push(move.fallbackMs);
  }
  return Math.min(...times);
}

/** @returns the new state, and what to do in this order */
export function decide(
  state: MaintenanceState,
  event: MaintenanceEvent,
  nowMs: number,
): readonly [MaintenanceState, readonly Decision[]] {
  switch (event.kind) {
    case "notice":
      return onNotice(state, event.notice, nowMs);
    case "time":
      return onTime(state, nowMs);
    case "move":
      return onMove(
        state,
        { target: null, dialAtMs: nowMs, fallbackMs: nowMs, endMs: nowMs + SHORTEST_MS },
        nowMs,
      );
    case "dial failed":
      return [{ ...state, move: state.move && retried(state.move, nowMs) }, []];
    case "ready":
      return [{ ...state, move: state.move && { ...state.move, status: "ready" } }, []];
    case "changed over":
      return [{ ...state, windows: withoutMoving(state.windows), move: null }, []];
    case "connection lost":
      // The next connection is made by the ordinary rules; the server may still be slow.
      return [{ ...state, move: null }, state.move === null ? [] : abandoned(state.move)];
  }
}

function onNotice(state: MaintenanceState, notice: Notice, nowMs: number): ReturnType<typeof decide> {
  const { kind, seq } = notice;
  const begun = Object.entries(ENDS).find(([, end]) => end === kind)?.[0];
  // A replayed end is older than the window that it would close.
  const windows = state.windows.filter((window) => window.kind !== begun || window.seq > seq);
  // Other nodes, and the new connection, repeat a notice. The end of a window may arrive first.
  if (isOld(state, kind, seq) || isOld(state, endOf(kind), seq)) return [{ ...state, windows }, []];
  const next = { ...state, windows, seen: { ...state.seen, [kind]: seq } };
  if (begun !== undefined) return [next, kind === "SMIGRATED" ? [{ does: "move slots", notice }] : []];
  const others = windows.filter((window) => window.kind !== kind);
  const opened = { ...next, windows: [...others, windowOf(notice, nowMs)] };
  return kind === "MOVING" ? onMove(opened, moveOf(notice, nowMs), nowMs) : [opened, []];
}

/** A new move replaces the one that is under way. */
function onMove(
  state: MaintenanceState,
  move: Omit<Move, "status">,
  nowMs: number,
): ReturnType<typeof decide> {
  const [dialled, decisions] = onTime({ ...state, move: { ...move, status: "due" } }, nowMs);
  return [dialled, [...(state.move === null ? [] : abandoned(state.move)), ...decisions]];
}

function isOld({ seen }: MaintenanceState, kind: NoticeKind, seq: number): boolean {
  return seq <= (seen[kind] ?? Number.NEGATIVE_INFINITY);
}

function endOf(kind: NoticeKind): NoticeKind {
  return (ENDS as Partial<Record<NoticeKind, NoticeKind>>)[kind] ?? kind;
}

function onTime(state: MaintenanceState, nowMs: number): ReturnType<typeof decide> {
  const windows = state.windows.filter(({ endMs }) => endMs > nowMs);
  const { move } = state;
  if (move === null) return [{ ...state, windows }, []];
  if (nowMs >= move.endMs + TAIL_MS) return [{ ...state, windows, move: null }, abandoned(move)];
  const isLate = nowMs >= move.fallbackMs;
  const isStuck = move.status === "dialling" && move.target !== null && isLate;
  const isDue = move.status === "due" && nowMs >= move.dialAtMs;
  if (!isStuck && !isDue) return [{ ...state, windows }, []];
  const target = isLate ? null : move.target;
  const dial: Decision = { does: "dial", address: target };
  return [
    { ...state, windows, move: { ...move, target, status: "dialling" } },
    isStuck ? [{ does: "abandon dial" }, dial] : [dial],
  ];
}

function moveOf({ seconds, target }: Notice, nowMs: number): Omit<Move, "status"> {
  const endMs = nowMs + lengthMs(seconds);
  const toldMs = Math.min(Math.max(0, seconds * 1000), LONGEST_MS);
  // Without an address, the configured name must resolve to the new server by then.
  const fallbackMs = target === null ? nowMs + toldMs / 2 : (nowMs + endMs) / 2;
  return { target, dialAtMs: target === null ? fallbackMs : nowMs, fallbackMs, endMs };
}

function windowOf({ kind, seq, seconds }: Notice, nowMs: number): Window {
  return { kind, seq, endMs: nowMs + lengthMs(seconds) + TAIL_MS };
}

function lengthMs(seconds: number): number {
  return Math.min(Math.max(seconds * 1000, SHORTEST_MS), LONGEST_MS);
}

/** After `endMs`, a move whose attempt failed is not tried again. */
function retried(move: Move, nowMs: number): Move {
  const dialAtMs = nowMs < move.endMs ? nowMs + RETRY_MS : Number.POSITIVE_INFINITY;
  return { ...move, status: "due", dialAtMs };
}

function abandoned({ status }: Move): readonly Decision[] {
  return status === "due" ? [] : [{ does: "abandon dial" }];
}

function withoutMoving(windows: readonly Window[]): readonly Window[] {
  return windows.filter(({ kind }) => kind !== "MOVING");
}
