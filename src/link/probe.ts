/**
 * Asks a server over a separate connection about another connection that is silent. Determines whether that
 * connection is dead or the server is merely busy. Only the server itself can declare it dead, with its list of
 * clients; replies of an intermediary (a proxy, a connection limit, an access rule) prove nothing.
 */

import type { Connection } from "../connection/connection";
import { type HandshakeOutcome, request } from "../connection/handshake";
import { clockMs, startTimer, stopTimer } from "../util/scheduling";
import { askForRows, isArriving, isHeld, isHeldIn, numberIn, rowOf } from "./client-list";
import type { SideConnection } from "./side-connection";

/**
 * The result, as it is reported to the channel of connections.
 *
 *   dead         the server knows this connection, or knows that it is gone, and does not work for it
 *   busy         no answer, or the server itself reports that it is busy
 *   unreachable  no connection could be made: the network or the host is gone
 *   unknown      the peer answers, but the server's view of this connection is unavailable
 *   served       the server has read from this connection or written to it since it fell silent here
 */
export type Verdict = "dead" | "busy" | "unreachable" | "unknown" | "served";

/** Errors of sockets whose other side is gone. Others (too many open files ...) concern this side. */
const GONE = /^(?:ECONNREFUSED|ECONNRESET|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ETIMEDOUT|ENOENT)$/;
/** Servers report the age and idle time of clients in whole seconds of their own clock. */
const CLOCK_SLACK_MS = 2000;

/** Asks over a side connection, which it closes, about a connection that is silent. */
export async function probe(
  side: SideConnection,
  silent: Connection,
  silentMs: number,
  timeoutMs: number,
): Promise<Verdict> {
  let late: Verdict | null = null;
  // Destroying the side connection fails all of its requests.
  const timer = startTimer(() => {
    // Accepted and silent: busy or paused. Not even accepted: gone.
    late = side.isAccepted ? "busy" : "unreachable";
    side.connection.destroy();
  }, timeoutMs);
  try {
    const verdict = await ask(side, silent, silentMs);
    return late ?? verdict;
  } finally {
    stopTimer(timer);
    side.connection.destroy();
  }
}

async function ask(side: SideConnection, silent: Connection, silentMs: number): Promise<Verdict> {
  const outcome = await side.outcome;
  if (outcome === null) return verdictOnClose(side);
  // It accepts no more connections, or not with these credentials: this says nothing about the other
  // connection.
  if (outcome.kind !== "ready") return verdictOnRefusal(outcome);
  const isKnownRun = await isSameRun(side.connection, silent.serverRunId);
  const rows = await listClients(side.connection, silent.clientId);
  return rows === null ? "unknown" : judge(silent, silentMs, rows, isKnownRun);
}

/** Closed by the other side without a reply, or never accepted. */
function verdictOnClose({ connection, error, isAccepted }: SideConnection): Verdict {
  const isGone = error === null ? isAccepted : GONE.test(error.code ?? "");
  return connection.bytesRead === 0 && isGone ? "unreachable" : "unknown";
}

function verdictOnRefusal(outcome: HandshakeOutcome): Verdict {
  const isAtWork = outcome.kind !== "failed" || /^(?:BUSY|LOADING)/.test(outcome.error.message);
  return isAtWork ? "busy" : "unknown";
}

/** Whether the same run of the same server answers here; null if unknown. */
async function isSameRun(connection: Connection, runId: string | null): Promise<boolean | null> {
  if (runId === null) return null;
  const info = await request(connection, "info", ["server"]);
  const found = /\brun_id:(\w+)/.exec(String(info.value ?? ""));
  return found === null ? null : found[1] === runId;
}

/** Null if they are unavailable, or do not contain the connection that requested them. */
async function listClients(connection: Connection, clientId: number | null): Promise<string[] | null> {
  const { clientId: ownId } = connection;
  if (clientId === null) return askForRows(connection, []);
  if (ownId === null) return askForRows(connection, [clientId]);
  const rows = await askForRows(connection, [clientId, ownId]);
  return rows?.some((row) => numberIn(row, "id") === ownId) ? rows : null;
}

function judge(
  connection: Connection,
  silentMs: number,
  clients: readonly string[],
  isKnownRun: boolean | null,
): Verdict {
  if (isKnownRun === false) return "unknown";
  const rows = clients.filter((row) => row.includes(" qbuf="));
  const row = rowOf(rows, connection);
  if (row === undefined) {
    // The server may hold another client in the command that the silent connection waits for.
    const awaited = connection.queue.head()?.spec.lowerName;
    if (isKnownRun === true && connection.clientId !== null) return "dead";
    return rows.some((one) => isHeldIn(one, awaited)) ? "busy" : "unknown";
  }
  const ageMs = numberIn(row, "age") * 1000;
  const idleMs = numberIn(row, "idle") * 1000;
  const livedMs = clockMs() - connection.readyAtMs;
  // Client IDs are unique only within one server.
  if (!(ageMs >= livedMs - CLOCK_SLACK_MS)) return "unknown";
  // Held (pause, script), or still arriving.
  if (isHeld(row) || isArriving(row)) return "busy";
  return idleMs >= silentMs - CLOCK_SLACK_MS ? "dead" : "served";
}
