/** Parses the rows of CLIENT LIST, which describe the server's connections. */

import type { Socket } from "node:net";
import type { Connection } from "../connection/connection";

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
