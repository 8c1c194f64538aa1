/**
 * The listeners of each channel, pattern and shard channel. Messages are pushes in RESP3 and arrays
 * in RESP2.
 */

import { matchesGlob } from "../protocol/glob";
import type { ReplyValue } from "../protocol/reply";

interface Subscriber {
  push(values: readonly ReplyValue[]): void;
}

export type Kind = "channels" | "patterns" | "shardChannels";

export class PubSub {
  readonly channels = new Map<string, Set<Subscriber>>();
  readonly patterns = new Map<string, Set<Subscriber>>();
  readonly shardChannels = new Map<string, Set<Subscriber>>();

  /** Other nodes of the cluster, which receive the messages published here. */
  readonly peers: PubSub[] = [];
  /** Those of the same shard. */
  readonly shardPeers: PubSub[] = [];

  /** To the listeners here, who are counted, and to those at other nodes. */
  publishEverywhere(channel: string, message: string): number {
    for (const peer of this.peers) peer.publish(channel, message);
    return this.publish(channel, message);
  }

  /** As `publishEverywhere`, for the nodes of this shard. */
  publishToShards(channel: string, message: string): number {
    for (const peer of this.shardPeers) peer.publishToShard(channel, message);
    return this.publishToShard(channel, message);
  }

  /** False if it listened before. */
  add(kind: Kind, name: string, session: Subscriber): boolean {
    const listeners = this[kind].get(name);
    if (listeners?.has(session)) return false;
    if (listeners === undefined) this[kind].set(name, new Set([session]));
    else listeners.add(session);
    return true;
  }

  remove(kind: Kind, name: string, session: Subscriber): boolean {
    const listeners = this[kind].get(name);
    if (listeners === undefined || !listeners.delete(session)) return false;
    if (listeners.size === 0) this[kind].delete(name);
    return true;
  }

  /** How many received it. */
  publish(channel: string, message: string): number {
    let count = 0;
    for (const session of this.channels.get(channel) ?? []) {
      session.push(["message", channel, message]);
      count++;
    }
    for (const [pattern, listeners] of this.patterns) {
      if (!matchesGlob(pattern, channel)) continue;
      for (const session of listeners) {
        session.push(["pmessage", pattern, channel, message]);
        count++;
      }
    }
    return count;
  }

  publishToShard(channel: string, message: string): number {
    let count = 0;
    for (const session of this.shardChannels.get(channel) ?? []) {
      session.push(["smessage", channel, message]);
      count++;
    }
    return count;
  }
}
