/**
 * Listens to Sentinels for a new master of the group. It notifies its owner once, and ends after that or after
 * `close`. Lost connections reconnect.
 */

import { readAddress } from "./replica-choice";
import type { SentinelClient } from "./sentinel-client";
import type { SentinelAddress } from "./sentinel-list";
import type { NodeAddress } from "./sentinel-options";

/** `<group> <old ip> <old port> <new ip> <new port>`, when the failover has completed for this Sentinel. */
const SWITCHED = "+switch-master";
/**
 * `slave <name> <ip> <port> @ <group> <old ip> <old port>`. The Sentinel that leads a failover publishes this
 * when the replica has become a master. `+switch-master` follows seconds later, when the other replicas have
 * been reconfigured, and writes that the old master acknowledges in between are lost.
 */
const PROMOTED = "+promoted-slave";

export interface FailoverDetectorOwner {
  /** Whether this master differs from the one of the current connection; `null`: the event does not name it. */
  isElsewhere(master: NodeAddress | null): boolean;
  onSwitch(sentinel: Partial<SentinelAddress>): void;
  onDetectorReconnecting(): void;
}

export class FailoverDetector {
  private isOver = false;

  constructor(
    private readonly sentinels: ReadonlyMap<SentinelClient, Partial<SentinelAddress>>,
    /** The name of the group; a Sentinel may monitor other groups too. */
    private readonly groupName: string,
    private readonly owner: FailoverDetectorOwner,
  ) {}

  /**
   * Resolves when every Sentinel was contacted, successfully or not.
   * @param isForMaster A connection to a replica stays open until the failover has completed.
   */
  async start(isForMaster: boolean): Promise<void> {
    await Promise.allSettled(
      Array.from(this.sentinels, ([client, address]) => {
        client.on("error", () => {});
        client.on("reconnecting", () => {
          if (!this.isOver) this.owner.onDetectorReconnecting();
        });
        client.on("message", (channel, message) => this.onMessage(address, channel, message));
        const switched = client.subscribe(SWITCHED);
        return isForMaster ? Promise.all([switched, client.subscribe(PROMOTED)]) : switched;
      }),
    );
  }

  close(): void {
    this.isOver = true;
    for (const client of this.sentinels.keys()) client.disconnect();
  }

  private onMessage(sentinel: Partial<SentinelAddress>, channel?: string, message?: string): void {
    if (this.isOver || message === undefined) return;
    const words = message.split(" ");
    let master: NodeAddress | null;
    if (channel === SWITCHED && words[0] === this.groupName) master = readAddress(words[3], words[4]);
    else if (channel === PROMOTED && words[5] === this.groupName) master = readAddress(words[2], words[3]);
    else return;
    if (!this.owner.isElsewhere(master)) return;
    this.close();
    this.owner.onSwitch(sentinel);
  }
}
