/**
 * Quits a cluster within a time limit. It rejects new commands and waits for the replies to issued ones,
 * including redirects and failovers. Then it sends QUIT to every node. After the time limit, it closes all
 * connections immediately.
 */

import { OpenCommands } from "../../link/open-commands";
import { sleep } from "../../util/scheduling";
import { PARTS } from "../chain";
import { type QuitOptions, type QuitReport, TimeLimit } from "../graceful-quit";
import type { ClusterWiring } from "./cluster-wiring";
import { viewOf } from "./node-views";

export type { QuitOptions, QuitReport };

const LOOK_AGAIN_MS = 5;

export async function quitClusterWithin(
  wiring: ClusterWiring,
  { timeout }: QuitOptions,
): Promise<QuitReport> {
  const { lifecycle, pool } = wiring;
  const limit = new TimeLimit(timeout);
  lifecycle.drain();
  while (lifecycle.status !== "wait" && lifecycle.status !== "end" && !limit.isOver) {
    if (lifecycle.status === "disconnecting" && countLeft(wiring).isEmpty) break;
    await sleep(LOOK_AGAIN_MS);
    lifecycle.drain();
  }
  const left = countLeft(wiring);
  if (left.isEmpty) {
    const expired = Promise.all([limit.over, sleep(LOOK_AGAIN_MS)]);
    await Promise.race([lifecycle.quit().catch(() => {}), expired]);
  }
  limit.stop();
  const clients = pool.allClients();
  lifecycle.disconnect();
  for (const client of clients) client.link.connection?.destroy();
  return { isDrained: left.isEmpty, unanswered: left.unanswered, unsent: left.unsent };
}

/** Unsettled commands: at the nodes, between them, and before they are routed. */
function countLeft({ pool, retries, lifecycle }: ClusterWiring): OpenCommands {
  const open = new OpenCommands();
  open.addAll(retries.pending());
  open.addAll(lifecycle.waiting);
  for (const client of pool.allClients()) {
    open.addLink(client.link);
    const { gatheredCommands, leasedLinks } = viewOf(client).redis[PARTS];
    open.addAll(gatheredCommands);
    for (const link of leasedLinks) open.addLink(link);
  }
  return open;
}
