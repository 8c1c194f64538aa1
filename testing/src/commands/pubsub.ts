/**
 * PUBLISH, SUBSCRIBE and their kind, also by pattern and by shard.
 */

import { matchesGlob } from "../protocol/glob";
import { ANSWERED, ErrorReply, type ReplyValue } from "../protocol/reply";
import type { Caller, Handler, Handlers } from "../server/model";
import type { Kind } from "../server/pubsub";
import { at, wrongWords } from "./arguments";

function countOf(caller: Caller, kind: Kind): number {
  const { session } = caller;
  if (session === null) return 0;
  return kind === "shardChannels" ? session.subscriptions.shardChannels.size : session.subscriptionCount;
}

function subscribe(kind: Kind, name: string): Handler {
  return (caller, args) => {
    const { session, engine } = caller;
    if (session === null) throw new ErrorReply("ERR This command needs a connection");
    for (const channel of args.slice(1)) {
      session.subscriptions[kind].add(channel);
      engine.pubsub.add(kind, channel, session);
      session.push([name, channel, countOf(caller, kind)]);
    }
    return ANSWERED;
  };
}

function unsubscribe(kind: Kind, name: string): Handler {
  return (caller, args) => {
    const { session, engine } = caller;
    if (session === null) throw new ErrorReply("ERR This command needs a connection");
    const channels = args.length > 1 ? args.slice(1) : [...session.subscriptions[kind]];
    for (const channel of channels) {
      session.subscriptions[kind].delete(channel);
      engine.pubsub.remove(kind, channel, session);
      session.push([name, channel, countOf(caller, kind)]);
    }
    if (channels.length === 0) session.push([name, null, countOf(caller, kind)]);
    return ANSWERED;
  };
}

function channels(kind: "channels" | "shardChannels"): Handler {
  return (caller, args) => {
    if (args.length > 3) throw new ErrorReply(wrongWords("PUBSUB", at(args, 1)));
    const pattern = args[2] ?? "*";
    return [...caller.engine.pubsub[kind].keys()].filter((channel) => matchesGlob(pattern, channel));
  };
}

function subscriberCounts(kind: "channels" | "shardChannels"): Handler {
  return (caller, args) => {
    return args.slice(2).flatMap((channel): ReplyValue[] => {
      return [channel, caller.engine.pubsub[kind].get(channel)?.size ?? 0];
    });
  };
}

export const pubsubHandlers: Handlers = {
  publish: (caller, args) => caller.engine.pubsub.publishEverywhere(at(args, 1), at(args, 2)),
  spublish: (caller, args) => caller.engine.pubsub.publishToShards(at(args, 1), at(args, 2)),
  subscribe: subscribe("channels", "subscribe"),
  psubscribe: subscribe("patterns", "psubscribe"),
  ssubscribe: subscribe("shardChannels", "ssubscribe"),
  unsubscribe: unsubscribe("channels", "unsubscribe"),
  punsubscribe: unsubscribe("patterns", "punsubscribe"),
  sunsubscribe: unsubscribe("shardChannels", "sunsubscribe"),
  "pubsub|channels": channels("channels"),
  "pubsub|shardchannels": channels("shardChannels"),
  "pubsub|numsub": subscriberCounts("channels"),
  "pubsub|shardnumsub": subscriberCounts("shardChannels"),
  "pubsub|numpat": (caller) => caller.engine.pubsub.patterns.size,
};
