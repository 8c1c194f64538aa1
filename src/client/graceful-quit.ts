/** Closes a client of one server after its issued commands, or when a time limit has passed. */

import { specOf } from "../command/command-table";
import { type Caller, EXECUTE } from "../command/commander";
import type { Link } from "../link/link";
import { OpenCommands } from "../link/open-commands";
import { Delay } from "../util/scheduling";
import { type Chain, PARTS } from "./chain";

export interface QuitOptions {
  /** Milliseconds for the commands issued before `quit` to be answered. */
  timeout: number;
}

export interface QuitReport {
  /** Every command issued before `quit` was answered. */
  isDrained: boolean;
  /** Commands that were written but not answered; they may have run. */
  unanswered: number;
  /** Commands that were never written. */
  unsent: number;
}

export interface QuittingClient extends Caller {
  readonly [PARTS]: Chain;
  connect(): Promise<void>;
  disconnect(): void;
}

/** A time limit set by the user. */
export class TimeLimit {
  isOver = false;
  readonly over: Promise<void>;
  private delay!: Delay;

  constructor(timeoutMs: number) {
    this.over = new Promise((resolve) => {
      const end = (): void => {
        this.isOver = true;
        resolve();
      };
      this.delay = new Delay(end, Math.max(0, timeoutMs));
    });
  }

  stop(): void {
    this.delay.stop();
  }
}

/** Sends QUIT after all other commands, also over leased connections and the connections to replicas. */
export function quit(client: QuittingClient, wantsBuffers: boolean): Promise<unknown> {
  const { leases, replicas } = client[PARTS];
  const left = leases?.leave();
  const outcome = quitServer(client, wantsBuffers);
  return Promise.all([outcome, left, replicas?.leave()]).then(([reply]) => reply);
}

function quitServer(client: QuittingClient, wantsBuffers: boolean): Promise<unknown> {
  const { [PARTS]: parts } = client;
  const { link } = parts;
  // If the connection was closed on purpose, the goal of QUIT is reached.
  const isClosed = link.isClosing && link.offline.length === 0;
  const isUsed = link.isWritable || link.isLeaving || link.offline.length > 0 || link.status === "monitoring";
  if (isUsed && !isClosed) return client[EXECUTE](specOf("quit"), [], wantsBuffers);
  if (!isClosed) {
    if (link.status === "wait") client.connect().catch(() => {});
    parts.letGo();
    link.disconnect();
  }
  return Promise.resolve(wantsBuffers ? Buffer.from("OK") : "OK");
}

export async function quitWithin(client: QuittingClient, { timeout }: QuitOptions): Promise<QuitReport> {
  const { [PARTS]: parts } = client;
  // Dispatches the commands that `bounds` holds back, so that the report includes them.
  parts.letGo();
  const left = quit(client, false).then(
    () => null,
    // QUIT was refused or given up: the client closes nevertheless.
    () => ({
      ...countLeft(parts),
      isDrained: linksOf(parts).every(({ connection }) => connection === null),
    }),
  );
  const limit = new TimeLimit(timeout);
  const report = await Promise.race([left, limit.over.then(() => countLeft(parts))]);
  limit.stop();
  if (report === null) return { isDrained: true, unanswered: 0, unsent: 0 };
  const connections = linksOf(parts).map(({ connection }) => connection);
  client.disconnect();
  for (const connection of connections) connection?.destroy();
  return report;
}

function linksOf({ link, replicas }: Chain): readonly Link[] {
  return [link, ...(replicas?.links ?? [])];
}

function countLeft(parts: Chain): QuitReport {
  const open = new OpenCommands();
  for (const link of linksOf(parts)) open.addLink(link);
  open.addAll(parts.gatheredCommands);
  for (const link of parts.leasedLinks) open.addLink(link);
  return { isDrained: false, unanswered: open.unanswered, unsent: open.unsent };
}
