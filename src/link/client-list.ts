/** Requests and parses the rows of CLIENT LIST, which describe the server's connections. */

import type { Socket } from "node:net";
import type { Connection } from "../connection/connection";
import { request } from "../connection/handshake";

/** The rows of the connections with these IDs, or of all if none is given; null if the server refuses. */
export async function askForRows(connection: Connection, ids: readonly number[]): Promise<string[] | null> {
  const filter = ids.length > 0 ? ["id", ...ids] : [];
  let answer = await request(connection, "client", ["list", ...filter]);
  // Before Redis 6.2, CLIENT LIST has no filter by ID.
  if (ids.length > 0 && /syntax/i.test(answer.said)) answer = await request(connection, "client", ["list"]);
  return answer.error === null ? String(answer.value).split("\n") : null;
}

/** The row of a connection: by its ID, or else by its address, which a network may have translated. */
export function rowOf(rows: readonly string[], { clientId, socket }: Connection): string | undefined {
  if (clientId !== null) return rows.find((row) => numberIn(row, "id") === clientId);
  const { localAddress, localPort } = (socket ?? {}) as Partial<Socket>;
  if (localPort === undefined) return undefined;
  const address = ` addr=${localAddress?.replace(/^::ffff:/, "")}:${localPort} `;
  return rows.find((row) => row.includes(address));
}

/** NaN if the field is missing or not a number. */
export function numberIn(row: string, field: string): number {
  return Number(new RegExp(`(?:^| )${field}=(\\d+)`).exec(row)?.[1] ?? Number.NaN);
}

/** The server holds the connection in a blocking command, a pause or a script. */
export function isHeld(row: string): boolean {
  return /(?:^| )flags=\S*b/.test(row);
}

/** The server holds it in the command of that name. */
export function isHeldIn(row: string, lowerName: string | undefined): boolean {
  return isHeld(row) && / cmd=([^ |]*)/.exec(row)?.[1] === lowerName;
}

/** A large command is arriving: the server has received a part of it and has just read more. */
export function isArriving(row: string): boolean {
  return / idle=[01] /.test(row) && / qbuf=[1-9]/.test(row);
}
