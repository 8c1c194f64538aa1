/**
 * The answers of a cache: for each key a node with the answers that depend on it, all answers in one
 * list for eviction (SIEVE: an answer that is asked for again gets a mark and keeps its place, so a
 * hit moves nothing). The memory is bounded in bytes, keys and bookkeeping counted.
 *
 *   keys:  Map  key -> KeyNode -> CachedReply -> CachedReply      by command and arguments
 *   order: newest <-> ... <-> hand <-> ... <-> oldest
 *
 * On a cluster the nodes of each slot are in a set too, so that a slot that has another owner is
 * dropped without looking at the others.
 *
 * A node that was dropped is never found again; who still holds it sees `isGone`.
 */

import type { CommandSpec, ReplyMapper } from "../command/command-spec";
import { slotOfKey } from "../command/slot";
import type { TrackedConnection } from "./tracked-connection";
import { ELEMENT_BYTES, sizeOfText, type ValueKind } from "./values";

/** The memory that an answer and a key take besides their content: objects and the slot of the map. */
const REPLY_BYTES = 280;
const NODE_BYTES = 192;
/** From so many answers on those of a key are found by their signature. */
const MANY_REPLIES = 8;
/** Shorter texts are never parts of longer ones, which they would keep in memory. */
const LEAST_SLICE = 13;

/** The question of a command, as it is sent. Its first argument is its first key. */
export interface Question {
  readonly spec: CommandSpec;
  readonly args: readonly string[];
  readonly wantsBuffers: boolean;
}

export class KeyNode {
  isGone = false;
  replies: CachedReply | null = null;
  replyCount = 0;
  /** The replies by signature, once the key has many. */
  bySignature: Map<string, CachedReply> | null = null;
  /** Reads of the key that are in flight, and replies under other keys that depend on it. */
  uses = 0;

  constructor(readonly key: string) {}

  get isEmpty(): boolean {
    return this.replies === null && this.uses === 0;
  }
}

/** The content of an answer. */
export interface Content {
  readonly value: unknown;
  readonly kind: ValueKind;
  readonly bytes: number;
  /** The connection whose server reports when the reply is stale. */
  readonly connection: TrackedConnection;
  /** When its command was issued. */
  readonly bornMs: number;
  readonly expiresAtMs: number;
}

export class CachedReply implements Content {
  /** The nodes of its other keys. */
  readonly others: readonly KeyNode[] | null;
  readonly spec: CommandSpec;
  readonly args: readonly string[];
  readonly wantsBuffers: boolean;
  /** The transformer that made the value. */
  readonly mapper: ReplyMapper | null;
  readonly value: unknown;
  readonly kind: ValueKind;
  readonly connection: TrackedConnection;
  readonly bornMs: number;
  /** Can move earlier: the server reports the key's time to live after the reply itself. */
  expiresAtMs: number;
  bytes: number;
  isVisited = false;
  newer: CachedReply | null = null;
  older: CachedReply | null = null;
  /** The adjacent replies of the same key. */
  next: CachedReply | null = null;
  before: CachedReply | null = null;

  constructor(
    readonly node: KeyNode,
    others: readonly KeyNode[],
    question: Question,
    content: Content,
  ) {
    this.others = others.length === 0 ? null : others;
    this.spec = question.spec;
    this.args = question.args;
    this.wantsBuffers = question.wantsBuffers;
    this.mapper = question.spec.replyMapper;
    this.value = content.value;
    this.kind = content.kind;
    this.connection = content.connection;
    this.bornMs = content.bornMs;
    this.expiresAtMs = content.expiresAtMs;
    this.bytes = content.bytes;
  }

  /** All its keys are still in the store, and the current transformer would produce the same value. */
  get isValid(): boolean {
    return (
      this.mapper === this.spec.replyMapper &&
      (this.others === null || !this.others.some((one) => one.isGone))
    );
  }
}

export class CacheStore {
  /** Bytes of memory that the answers take, about. */
  bytes = 0;
  size = 0;
  evictions = 0;
  /** Changes whenever everything is dropped. */
  epoch = 0;
  private nodes = new Map<string, KeyNode>();
  private newest: CachedReply | null = null;
  private oldest: CachedReply | null = null;
  private hand: CachedReply | null = null;
  /** The nodes by slot, on a cluster. */
  private readonly slots = new Map<number, Set<KeyNode>>();

  constructor(
    private readonly maxBytes: number,
    private readonly isSharded = false,
  ) {}

  /**
   * Finds the reply to a call from the arguments as the caller wrote them; numbers compare as their texts. The reply
   * may be invalid.
   */
  find(key: string, spec: CommandSpec, args: readonly unknown[], wantsBuffers: boolean): CachedReply | null {
    const node = this.nodes.get(key);
    if (node === undefined) return null;
    if (node.bySignature !== null)
      return args.every(isText) ? (node.bySignature.get(signature(spec, args, wantsBuffers)) ?? null) : null;
    for (let reply = node.replies; reply !== null; reply = reply.next) {
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
    if (node.isGone || !node.isEmpty || this.nodes.get(node.key) !== node) return;
    this.forget(node);
  }

  /**
   * Stores a reply under its first key and replaces an older reply to the same question. Returns null if the
   * reply is too large.
   */
  add(nodes: readonly KeyNode[], question: Question, content: Content): CachedReply | null {
    const [node, ...others] = nodes as [KeyNode, ...KeyNode[]];
    const bytes = content.bytes + sizeOfQuestion(question);
    if (bytes + sizeOfNode(node) > this.maxBytes) return null;
    const former = this.find(node.key, question.spec, question.args, question.wantsBuffers);
    // The node stays when its only answer is replaced.
    node.uses++;
    if (former !== null) this.remove(former);
    node.uses--;
    const args = question.args.map((arg, at) => (at === 0 ? node.key : copyOfText(arg)));
    const reply = new CachedReply(node, others, { ...question, args }, { ...content, bytes });
    for (const other of others) other.uses++;
    attach(node, reply);
    this.enlist(reply);
    while (this.bytes > this.maxBytes && this.size > 0) this.evict();
    return reply;
  }

  remove(reply: CachedReply): void {
    this.unlist(reply);
    detach(reply.node, reply);
    this.release(reply.others);
    this.closeNode(reply.node);
  }

  /**
   * Drops every reply that depends on a key. Replies of its reads in flight will not be stored. Returns false
   * if the key has no entry.
   */
  drop(key: string): boolean {
    const node = this.nodes.get(key);
    if (node === undefined) return false;
    this.forget(node);
    for (let reply = node.replies; reply !== null; reply = reply.next) {
      this.unlist(reply);
      this.release(reply.others);
    }
    node.replies = null;
    node.bySignature = null;
    return true;
  }

  /** Drops every reply that depends on a key of the slot, and returns the keys that had replies. */
  dropSlot(slot: number): string[] {
    const keys: string[] = [];
    for (const node of this.slots.get(slot) ?? []) {
      if (node.replies !== null) keys.push(node.key);
      this.drop(node.key);
    }
    return keys;
  }

  /** Drops the replies that arrived over a connection. Returns false if it had none. */
  dropConnection(connection: TrackedConnection): boolean {
    const { size } = this;
    for (let reply = this.oldest; reply !== null; ) {
      const { newer } = reply;
      if (reply.connection === connection) this.remove(reply);
      reply = newer;
    }
    return this.size < size;
  }

  /** Drops everything in constant time. */
  dropAll(): void {
    this.epoch++;
    this.nodes = new Map();
    this.slots.clear();
    this.newest = null;
    this.oldest = null;
    this.hand = null;
    this.bytes = 0;
    this.size = 0;
  }

  /** A reply or read that depended on these keys is gone. */
  release(nodes: readonly KeyNode[] | null): void {
    if (nodes === null) return;
    for (const node of nodes) {
      node.uses--;
      this.closeNode(node);
    }
  }

  // --- inside ------------------------------------------------------------------------------

  private forget(node: KeyNode): void {
    this.nodes.delete(node.key);
    if (this.isSharded) this.takeFromSlot(node);
    this.bytes -= sizeOfNode(node);
    node.isGone = true;
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

  private enlist(reply: CachedReply): void {
    reply.older = this.newest;
    if (this.newest === null) this.oldest = reply;
    else this.newest.newer = reply;
    this.newest = reply;
    this.bytes += reply.bytes;
    this.size++;
  }

  private unlist(reply: CachedReply): void {
    const { newer, older } = reply;
    if (newer === null) this.newest = older;
    else newer.older = older;
    if (older === null) this.oldest = newer;
    else older.newer = newer;
    if (this.hand === reply) this.hand = newer;
    reply.newer = null;
    reply.older = null;
    this.bytes -= reply.bytes;
    this.size--;
  }

  /** The hand goes from old to new, takes marks away and stops at the first answer without one. */
  private evict(): void {
    let reply = this.hand ?? this.oldest;
    while (reply?.isVisited === true) {
      reply.isVisited = false;
      reply = reply.newer ?? this.oldest;
    }
    if (reply === null) return;
    this.hand = reply.newer;
    this.evictions++;
    this.remove(reply);
  }
}

function attach(node: KeyNode, reply: CachedReply): void {
  reply.next = node.replies;
  if (node.replies !== null) node.replies.before = reply;
  node.replies = reply;
  node.replyCount++;
  if (node.bySignature !== null) node.bySignature.set(signatureOf(reply), reply);
  else if (node.replyCount > MANY_REPLIES) {
    node.bySignature = new Map();
    for (let one: CachedReply | null = reply; one !== null; one = one.next) {
      node.bySignature.set(signatureOf(one), one);
    }
  }
}

function detach(node: KeyNode, reply: CachedReply): void {
  node.replyCount--;
  node.bySignature?.delete(signatureOf(reply));
  if (reply.before === null) node.replies = reply.next;
  else reply.before.next = reply.next;
  if (reply.next !== null) reply.next.before = reply.before;
}

function isText(arg: unknown): boolean {
  return typeof arg === "string" || typeof arg === "number";
}

function signatureOf({ spec, args, wantsBuffers }: Question): string {
  return signature(spec, args, wantsBuffers);
}

/** Lengths in front of the arguments keep ["a", "bc"] and ["ab", "c"] apart. The first one is in the key. */
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
