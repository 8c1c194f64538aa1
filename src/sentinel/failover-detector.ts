/**
 * Listens to sentinels for the news that the group has another master. Tells its owner once; after
 * that, and after `close`, it is over. Its connections renew themselves.
 */

import { readAddress } from "./replica-choice";
import type { SentinelClient } from "./sentinel-client";
import type { SentinelAddress } from "./sentinel-list";
import type { NodeAddress } from "./sentinel-options";

/** `<group> <old ip> <old port> <new ip> <new port>`, once the failover is over for this sentinel. */
const SWITCHED = "+switch-master";
/**
 * `slave <name> <ip> <port> @ <group> <old ip> <old port>`. The sentinel that leads a failover says so as
 * soon as the replica is a master; it says `+switch-master` when the other replicas follow, seconds later,
 * and what the old master acknowledges meanwhile is lost.
 */
const PROMOTED = "+promoted-slave";

export interface FailoverDetectorOwner {
  /** Whether the news that this is the master concern the present connection; `null`: they do not name it. */
  isElsewhere(master: NodeAddress | null): boolean;
  /** The group has a new master, says this sentinel. */
  onSwitch(sentinel: Partial<SentinelAddress>): void;
  /** A connection to a sentinel was lost and is being renewed. */
  onDetectorReconnecting(): void;
}

/** One sentinel that is listened to. */
export interface SubscribedSentinel {
  readonly address: Partial<SentinelAddress>;
  readonly client: SentinelClient;
}

export class FailoverDetector {
  private isOver = false;

  constructor(
    private readonly sentinels: readonly SubscribedSentinel[],
    /** Name of the group; a sentinel may watch over others too. */
    private readonly groupName: string,
    private readonly owner: FailoverDetectorOwner,
  ) {}

  /**
   * Resolves when every sentinel was asked, whether or not it could be reached.
   * @param isForMaster A connection to a replica stays until the failover is over.
   */
  async start(isForMaster: boolean): Promise<void> {
    await Promise.allSettled(
      this.sentinels.map(({ address, client }) => {
        client.on("error", ignore);
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
    for (const { client } of this.sentinels) client.disconnect();
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

function ignore(): void {}
