/**
 * A connection as CLIENT LIST and ACL LOG describe it.
 */

import type { Refusal } from "./acl-log";
import type { ClientSession, ServerEngine } from "./model";

function flagsOf(session: ClientSession): string {
  let flags = "";
  if (session.isMonitor) flags += "O";
  if (session.subscriptionCount + session.subscriptions.shardChannels.size > 0) flags += "P";
  if (session.transaction !== null) flags += "x";
  if (session.engine.blocking.isWaiting(session)) flags += "b";
  if (session.trackingMode !== null) flags += "t";
  return flags === "" ? "N" : flags;
}

/** One line of CLIENT LIST. */
export function describeClient(session: ClientSession): string {
  const { now } = session.engine.clock;
  const seconds = (since: number): number => Math.floor((now - since) / 1000);
  const facts: readonly (readonly [string, string | number])[] = [
    ["id", session.id],
    ["addr", session.address],
    ["laddr", session.localAddress],
    ["fd", session.id + 7],
    ["name", session.name],
    ["age", seconds(session.connectedAt)],
    ["idle", seconds(session.lastActiveAt)],
    ["flags", flagsOf(session)],
    ["db", session.databaseIndex],
    ["sub", session.subscriptions.channels.size],
    ["psub", session.subscriptions.patterns.size],
    ["ssub", session.subscriptions.shardChannels.size],
    ["multi", session.transaction?.commands.length ?? -1],
    ["watch", 0],
    ["qbuf", 0],
    ["qbuf-free", 0],
    ["argv-mem", 10],
    ["multi-mem", 0],
    ["rbs", 1024],
    ["rbp", 0],
    ["obl", 0],
    ["oll", 0],
    ["omem", 0],
    ["tot-mem", 1946],
    ["events", "r"],
    ["cmd", session.lastCommand],
    ["user", session.user.name],
    ["redir", session.trackingMode === null ? -1 : session.trackingMode.redirect],
    ["resp", session.protocol],
    ...(session.engine.version.isModern
      ? ([
          ["lib-name", session.library.name],
          ["lib-ver", session.library.version],
        ] as const)
      : []),
  ];
  return facts.map(([name, value]) => `${name}=${value}`).join(" ");
}

/** Records in ACL LOG a refusal of a connection. */
export function logRefusal(
  engine: ServerEngine,
  session: ClientSession,
  refusal: Omit<Refusal, "clientInfo">,
): void {
  engine.acl.log.add({ ...refusal, clientInfo: describeClient(session) }, engine.clock.now);
}
