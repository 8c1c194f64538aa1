/**
 * The replies of a cache: for each key a node with the replies that depend on it, and all replies in one list
 * for eviction. The list follows SIEVE: a reply that is used again gets a mark and keeps its place, so a hit
 * moves nothing. The memory limit in bytes includes keys and bookkeeping.
 *
 *   keys:  Map  key -> KeyNode -> its CachedReplies      by command and arguments
 *   order: Set  oldest, ... , hand, ... , newest
 *
 * On a cluster the nodes of each slot are in a set too, so that a slot that has moved is dropped without a
 * search through all nodes.
 *
 * A node that was dropped is never found again: `has` is false for it.
 */

import type { CommandSpec, ReplyMapper } from "../command/command-spec";
import { slotOfKey } from "../command/slot";
import { INSPECT } from "../util/inspect";
import type { TrackedConnection } from "./tracked-connection";
import { ELEMENT_BYTES, sizeOfText } from "./values";

/** The memory of a reply and of a key besides their content. */
const REPLY_BYTES = 280;
const NODE_BYTES = 192;
/** The most replies of a key that are compared one by one; more are found by their signature. */
const MANY_REPLIES = 8;
/** In characters: V8 copies shorter substrings, so they do not keep the original string in memory. */
const LEAST_SLICE = 13;

/** A read as it is sent. Its first argument is its first key. */
export interface Question {
  readonly spec: CommandSpec;
  readonly args: readonly string[];
  readonly wantsBuffers: boolean;
}

export class KeyNode {
  /** Its replies; a map by signature if there are more than `MANY_REPLIES`. */
  replies: CachedReply[] | Map<string, CachedReply> = [];
  /** Reads of the key that are in flight, and replies under other keys that depend on it. */
  uses = 0;

  constructor(readonly key: string) {}

  get hasReplies(): boolean {
    const { replies } = this;
    return (Array.isArray(replies) ? replies.length : replies.size) > 0;
  }

  attach(reply: CachedReply): void {
    if (Array.isArray(this.replies) && this.replies.length === MANY_REPLIES)
      this.replies = new Map(this.replies.map((one) => [signatureOf(one), one]));
    if (Array.isArray(this.replies)) this.replies.push(reply);
    else this.replies.set(signatureOf(reply), reply);
  }

  detach(reply: CachedReply): void {
    const { replies } = this;
    if (Array.isArray(replies)) replies.splice(replies.indexOf(reply), 1);
    else replies.delete(signatureOf(reply));
  }
}

export interface Content {
  readonly value: unknown;
  readonly bytes: number;
  /** The connection whose server reports when the reply is stale. */
  readonly connection: TrackedConnection;
  /** When its command was issued. */
  readonly bornMs: number;
  readonly expiresAtMs: number;
}

export interface CachedReply extends Question, Content {
  readonly node: KeyNode;
  /** The nodes of its other keys. */
  readonly others: readonly KeyNode[];
  /** The transformer that made the value. */
  readonly mapper: ReplyMapper | null;
  /** Can move earlier: the server reports the key's time to live after the reply itself. */
  expiresAtMs: number;
  isVisited: boolean;
}

export class CacheStore {
  /** The estimated memory of replies and keys, in bytes. */
  bytes = 0;
  evictions = 0;
  private nodes = new Map<string, KeyNode>();
  /** All replies, oldest first. */
  private order = new Set<CachedReply>();
  /** The position of the next eviction in `order`. */
  private hand = this.order.values();
  private newest: CachedReply | null = null;
  /** The nodes by slot, on a cluster. */
  private readonly slots = new Map<number, Set<KeyNode>>();

  constructor(
    private readonly maxBytes: number,
    private readonly isSharded = false,
  ) {}

  get size(): number {
    return this.order.size;
  }

  has(node: KeyNode): boolean {
    return this.nodes.get(node.key) === node;
  }

  /** All its keys are still in the store, and the current transformer would produce the same value. */
  isValid({ mapper, spec, others }: CachedReply): boolean {
    if (mapper !== spec.replyMapper) return false;
    return others.length === 0 || others.every((one) => this.has(one));
  }

  /** The reply to a call with these arguments. It may be invalid. Numbers are compared as text. */
  find(key: string, spec: CommandSpec, args: readonly unknown[], wantsBuffers: boolean): CachedReply | null {
    const node = this.nodes.get(key);
    if (node === undefined) return null;
    const { replies } = node;
    if (!Array.isArray(replies))
      return args.every(isText) ? (replies.get(signature(spec, args, wantsBuffers)) ?? null) : null;
    // An iterator would take a tenth of the time of a hit.
    for (let index = 0; index < replies.length; index++) {
      const reply = replies[index] as CachedReply;
      if (reply.spec === spec && reply.wantsBuffers === wantsBuffers && isSame(reply.args, args))
        return reply;
    }
    return null;
  }

  /** The node of a key, created if it is missing. */
  openNode(key: string): KeyNode {
    let node = this.nodes.get(key);
    if (node === undefined) {
      node = new KeyNode(copyOfText(key));
      this.nodes.set(node.key, node);
      if (this.isSharded) this.addToSlot(node);
      this.bytes += sizeOfNode(node);
    }
    return node;
  }

  /** Removes a node when no reply or read depends on it any more. */
  closeNode(node: KeyNode): void {
    if (!node.hasReplies && node.uses === 0 && this.has(node)) this.forget(node);
  }

  /** Cached values do not reach logs. */
  [INSPECT](): string {
    return `CacheStore { size: ${this.size}, bytes: ${this.bytes} }`;
  }

  /** Stores a reply in place of an older one to the same question. Returns null if it is too large. */
  add(nodes: readonly KeyNode[], question: Question, content: Content): CachedReply | null {
    const [node, ...others] = nodes as [KeyNode, ...KeyNode[]];
    const bytes = content.bytes + sizeOfQuestion(question);
    if (bytes + sizeOfNode(node) > this.maxBytes) return null;
    const former = this.find(node.key, question.spec, question.args, question.wantsBuffers);
    if (former !== null) this.remove(former);
    const args = question.args.map((arg, at) => (at === 0 ? node.key : copyOfText(arg)));
    const { spec, wantsBuffers } = question;
    const { value, connection, bornMs, expiresAtMs } = content;
    const mapper = spec.replyMapper;
    // No spread, because it would take half of the time of a miss.
    const reply: CachedReply = {
      spec,
      args,
      wantsBuffers,
      mapper,
      value,
      bytes,
      connection,
      bornMs,
      expiresAtMs,
      node,
      others,
      isVisited: false,
    };
    for (const other of others) other.uses++;
    node.attach(reply);
    this.order.add(reply);
    this.newest = reply;
    this.bytes += bytes;
    while (this.bytes > this.maxBytes && this.size > 0) this.evict();
    return reply;
  }

  remove(reply: CachedReply): void {
    this.unlist(reply);
    reply.node.detach(reply);
    this.release(reply.others);
    this.closeNode(reply.node);
  }

  /** Drops every reply that depends on a key. Replies of its reads in flight will not be stored. */
  drop(key: string): void {
    const node = this.nodes.get(key);
    if (node === undefined) return;
    this.forget(node);
    for (const reply of node.replies.values()) {
      this.unlist(reply);
      this.release(reply.others);
    }
    node.replies = [];
  }

  /** Drops every reply that depends on a key of the slot, and returns the keys that had replies. */
  dropSlot(slot: number): string[] {
    const keys: string[] = [];
    for (const node of this.slots.get(slot) ?? []) {
      if (node.hasReplies) keys.push(node.key);
      this.drop(node.key);
    }
    return keys;
  }

  /** Drops the replies that arrived over a connection. */
  dropConnection(connection: TrackedConnection): void {
    for (const reply of this.order) if (reply.connection === connection) this.remove(reply);
  }

  /** Drops everything in constant time. */
  dropAll(): void {
    this.nodes = new Map();
    this.slots.clear();
    this.order = new Set();
    this.hand = this.order.values();
    this.bytes = 0;
  }

  /** A reply or read that depended on these keys is gone. */
  release(nodes: readonly KeyNode[]): void {
    for (const node of nodes) {
      node.uses--;
      this.closeNode(node);
    }
  }

  private forget(node: KeyNode): void {
    this.nodes.delete(node.key);
    if (this.isSharded) this.takeFromSlot(node);
    this.bytes -= sizeOfNode(node);
  }

  private addToSlot(node: KeyNode): void {
    const slot = slotOfKey(node.key);
    const nodes = this.slots.get(slot);
    if (nodes === undefined) this.slots.set(slot, new Set([node]));
    else nodes.add(node);
  }

  private takeFromSlot(node: KeyNode): void {
    const slot = slotOfKey(node.key);
    const nodes = this.slots.get(slot);
    nodes?.delete(node);
    if (nodes?.size === 0) this.slots.delete(slot);
  }

  private unlist(reply: CachedReply): void {
    this.order.delete(reply);
    this.bytes -= reply.bytes;
  }

  /** The hand moves from old to new, removes marks, and stops at the first reply without one. */
  private evict(): void {
    for (;;) {
      const { value: reply, done } = this.hand.next();
      if (done) this.hand = this.order.values();
      else if (reply.isVisited) reply.isVisited = false;
      else {
        this.evictions++;
        this.remove(reply);
        // Otherwise the hand would meet each new reply next, and evict it before it could be used again.
        if (reply === this.newest) this.hand = this.order.values();
        return;
      }
    }
  }
}

function isText(arg: unknown): boolean {
  return typeof arg === "string" || typeof arg === "number";
}

function signatureOf({ spec, args, wantsBuffers }: Question): string {
  return signature(spec, args, wantsBuffers);
}

/** The question as a text, its key included. */
export function textOfQuestion(question: Question): string {
  const [key = ""] = question.args;
  return `${key.length}:${key}${signatureOf(question)}`;
}

/** Lengths in front of the arguments keep ["a", "bc"] and ["ab", "c"] apart. Omits the first one, the key. */
function signature(spec: CommandSpec, args: readonly unknown[], wantsBuffers: boolean): string {
  let text = `${spec.name}${wantsBuffers ? "$" : " "}`;
  for (let index = 1; index < args.length; index++) {
    const arg = String(args[index]);
    text += `${arg.length}:${arg}`;
  }
  return text;
}

/** Whether the arguments after the key are the same. */
function isSame(kept: readonly string[], asked: readonly unknown[]): boolean {
  const { length } = kept;
  if (asked.length !== length) return false;
  for (let index = 1; index < length; index++) {
    const arg = asked[index];
    if (arg === kept[index]) continue;
    if (typeof arg !== "number" || `${arg}` !== kept[index]) return false;
  }
  return true;
}

function sizeOfNode({ key }: KeyNode): number {
  return NODE_BYTES + sizeOfText(key);
}

function sizeOfQuestion({ args }: Question): number {
  let bytes = REPLY_BYTES;
  for (let index = 0; index < args.length; index++) {
    bytes += ELEMENT_BYTES + (index === 0 ? 0 : sizeOfText(args[index] as string));
  }
  return bytes;
}

/** A copy of a text: a substring would keep the whole long text in memory. */
function copyOfText(text: string): string {
  return text.length < LEAST_SLICE ? text : Buffer.from(text).toString();
}
