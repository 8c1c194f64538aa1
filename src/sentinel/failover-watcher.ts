/**
 * Listens to sentinels for the news that the master has changed. Tells its owner once; after
 * that, and after `close`, it is over. Its connections renew themselves.
 */

import type { SentinelClient } from "./sentinel-client";

const CHANNEL = "+switch-master";

export interface FailoverWatcherOwner {
  /** The group has a new master. */
  onSwitch(): void;
  /** A connection to a sentinel was lost and is being renewed. */
  onWatcherReconnecting(): void;
}

export class FailoverWatcher {
  private isOver = false;

  constructor(
    private readonly clients: readonly SentinelClient[],
    /** Name of the group; a sentinel may watch over others too. */
    private readonly groupName: string,
    private readonly owner: FailoverWatcherOwner,
  ) {}

  /** Resolves when every sentinel was asked, whether or not it could be reached. */
  async start(): Promise<void> {
    await Promise.allSettled(
      this.clients.map((client) => {
        client.on("error", ignore);
        client.on("reconnecting", () => {
          if (!this.isOver) this.owner.onWatcherReconnecting();
        });
        client.on("message", (channel, message) => this.onMessage(channel, message));
        return client.subscribe(CHANNEL);
      }),
    );
  }

  close(): void {
    this.isOver = true;
    for (const client of this.clients) client.disconnect();
  }

  // <master name> <old ip> <old port> <new ip> <new port>
  private onMessage(channel: string | undefined, message: string | undefined): void {
    if (this.isOver || channel !== CHANNEL || !message?.startsWith(`${this.groupName} `)) return;
    this.close();
    this.owner.onSwitch();
  }
}

function ignore(): void {}
