/**
 * Splits commands that concern several nodes, by the request policies that servers publish in their command
 * tips. MGET, MSET, DEL, UNLINK, EXISTS and TOUCH are split by slot; DBSIZE, KEYS, FLUSHALL and similar
 * commands go to all shards or all nodes. The parts are ordinary commands with their own redirects and retries,
 * so the whole is not atomic. Off by default.
 */

import type { ClusterNode } from "../../cluster/cluster-node";
import type { FanOutPart } from "../../cluster/router";
import {
  Command,
  CommandState,
  type Completion,
  issuedBy,
  Origin,
  sentFor,
  UNROUTED,
} from "../../command/command";
import type { CommandExtra, SentCommand, SettleHook } from "../../command/command-extra";
import { CommandFlag, type CommandSpec, LEGACY_SHAPE, type ReplyShape } from "../../command/command-spec";
import { isWord, keyPositions } from "../../command/key-positions";
import { NO_SLOT, slotOfKey } from "../../command/slot";
import type { Argument, Reply } from "../../protocol/resp-types";
import { type Answer, type Fold, foldFor, valuesOf } from "./aggregate";
import { type FanOutPolicy, fanOutPolicyFor } from "./fan-out-policy";

export interface FanOutNodes {
  /** Every master that serves slots, with one of its slots. */
  owners(): ReadonlyMap<ClusterNode, number>;
  all(): readonly ClusterNode[];
}

/** MSETNX is missing: it is all or nothing, which separate parts cannot guarantee. */
const SPLITTABLE: ReadonlySet<string> = new Set(["mget", "mset", "del", "unlink", "exists", "touch"]);

export class FanOut {
  /** Whether a spec can fan out at all; the cache makes the check of all other commands cheap. */
  private readonly candidates = new WeakMap<CommandSpec, boolean>();

  constructor(private readonly nodes: FanOutNodes) {}

  /** The parts of a command, or null when the whole command goes to one node. */
  plan(command: Command): FanOutPart[] | null {
    const { spec, args } = command;
    if ((spec.flags & CommandFlag.Fieldsets) !== 0) return this.announce(command);
    let isCandidate = this.candidates.get(spec);
    if (isCandidate === undefined) {
      isCandidate = canFanOut(spec);
      this.candidates.set(spec, isCandidate);
    }
    if (!isCandidate || command.origin === Origin.Part) return null;
    const policy = fanOutPolicyFor(spec, args);
    switch (policy.request) {
      case "multi_shard":
        return SPLITTABLE.has(spec.lowerName) ? splitBySlot(command, policy) : null;
      case "all_shards":
      case "all_nodes":
        return this.spread(command, policy);
      default:
        return null;
    }
  }

  /** The parts of an HIMPORT for every master, or null for one that goes to a single node. */
  private announce(command: Command): FanOutPart[] | null {
    const [word] = command.args;
    if (command.origin === Origin.Part || !ANNOUNCEMENTS.some((one) => isWord(word, one))) return null;
    return this.spread(command, { request: "all_shards", response: "all_succeeded" });
  }

  private spread(command: Command, { request, response }: FanOutPolicy): FanOutPart[] | null {
    const fold = foldFor(response, command.spec.lowerName);
    const owners = this.nodes.owners();
    if (fold === null || owners.size === 0) return null;
    const places: Place[] = [];
    for (const slot of owners.values()) places.push({ slot, node: null });
    if (request === "all_nodes") {
      for (const node of this.nodes.all()) if (!owners.has(node)) places.push({ slot: UNROUTED, node });
    }
    return copiesFor(command, places, fold);
  }
}

/** A slot of the part's master, or the node itself. */
interface Place {
  readonly slot: number;
  readonly node: ClusterNode | null;
}

function copiesFor(command: Command, places: readonly Place[], fold: Fold): FanOutPart[] {
  const gathering = new Gathering(command, places.length, fold);
  return places.map(({ slot, node }) => {
    const part = gathering.makePart([...command.args]);
    part.slot = slot;
    return { command: part, node };
  });
}

/**
 * HIMPORT PREPARE, DISCARD and DISCARDALL change the state of connections: they go to all masters, also without
 * tips.
 */
const ANNOUNCEMENTS = ["PREPARE", "DISCARD", "DISCARDALL"] as const;

function canFanOut(spec: CommandSpec): boolean {
  // Subcommands have their own policies, so only a command without subcommands can be ruled out.
  const { request } = fanOutPolicyFor(spec, []);
  return (
    request !== "default" || ["script", "function", "config", "slowlog", "memory"].includes(spec.lowerName)
  );
}

interface Share {
  readonly slot: number;
  readonly args: Argument[];
  /** The positions of its keys among all keys. */
  readonly places: number[];
}

/** One part for each slot, because a server checks slots, not owners. */
function splitBySlot(command: Command, { response }: FanOutPolicy): FanOutPart[] | null {
  const { spec, args } = command;
  const { third: step } = spec.keys;
  const positions = keyPositions(spec, args);
  const shares = new Map<number, Share>();
  for (const [place, position] of positions.entries()) {
    const slot = slotOfKey(args[position] as Argument);
    let share = shares.get(slot);
    if (share === undefined) shares.set(slot, (share = { slot, args: [], places: [] }));
    for (let offset = 0; offset < step; offset++) share.args.push(args[position + offset] as Argument);
    share.places.push(place);
  }
  if (shares.size <= 1) return null;
  const parts = [...shares.values()];
  // MGET: each reply is a list, and its elements return to the positions of their keys.
  const fold =
    response === "default" ? placeBack(parts, positions.length) : foldFor(response, spec.lowerName);
  if (fold === null) return null;
  const gathering = new Gathering(command, parts.length, fold);
  return parts.map((share) => {
    const part = gathering.makePart(share.args);
    part.slot = share.slot;
    return { command: part, node: null };
  });
}

function placeBack(shares: readonly Share[], length: number): Fold {
  return (answers) => {
    const whole = new Array<unknown>(length).fill(null);
    for (const [i, value] of valuesOf(answers).entries()) {
      const { places } = shares[i] as Share;
      if (Array.isArray(value)) for (const [j, place] of places.entries()) whole[place] = value[j];
    }
    return whole;
  };
}

/**
 * Collects the parts of one command, and settles the command when the last part has settled. For timeout
 * errors, it also reports the progress of the parts.
 */
class Gathering implements Completion, SettleHook, SentCommand {
  private readonly answers: Answer[] = [];
  private readonly parts: Command[] = [];
  private left: number;
  /** The settings of the caller; null if the command has none. */
  private readonly settings: CommandExtra | null;

  constructor(
    private readonly whole: Command,
    size: number,
    private readonly fold: Fold,
  ) {
    this.left = size;
    this.settings = whole.extra;
    if (whole.slot === UNROUTED) whole.slot = NO_SLOT;
    const extra = whole.ensureExtra();
    extra.addHook(this);
    extra.sentAs = this;
  }

  makePart(args: Argument[]): Command {
    const { whole, settings } = this;
    const part = issuedBy(
      Origin.Part,
      new Command(withoutMapper(whole.spec), args, whole.wantsBuffers, this),
    );
    part.index = this.parts.push(part) - 1;
    if (settings !== null) {
      const extra = part.ensureExtra();
      extra.retryPolicy = settings.retryPolicy;
      extra.form = settings.form;
    }
    return part;
  }

  // --- SentCommand -----------------------------------------------------------------------

  get state(): number {
    const { state } = this.foremost;
    return state >= CommandState.Settled ? CommandState.Sent : state;
  }

  get slot(): number {
    return this.foremost.slot;
  }

  get extra(): CommandExtra | null {
    return this.foremost.extra;
  }

  get mayHaveRun(): boolean {
    return this.parts.some((part) => sentFor(part).mayHaveRun);
  }

  /** The part that determines the state: one in flight, else a successful one, else an unsent one. */
  private get foremost(): SentCommand {
    const sent = this.parts.map(sentFor);
    const open = sent.filter((_, index) => this.parts[index]?.isSettled === false);
    return (
      open.find(({ state }) => state === CommandState.Sent) ??
      sent.find((_, index) => this.answers[index]?.error === null) ??
      (open[0] as SentCommand)
    );
  }

  // --- Completion ------------------------------------------------------------------------

  fulfil(part: Command, value: Reply, shape: ReplyShape): void {
    this.note(part, { value, error: null }, shape);
  }

  reject(part: Command, error: Error): void {
    this.note(part, { value: null, error }, LEGACY_SHAPE);
  }

  /** The command has failed (timeout, signal), so its unsettled parts fail, too. */
  onSettled(error: Error | null): void {
    if (error !== null && this.left > 0) for (const part of this.parts) part.fail(error);
  }

  private note(part: Command, answer: Answer, shape: ReplyShape): void {
    this.answers[part.index] = answer;
    if (--this.left > 0) return;
    let value: Reply;
    try {
      value = this.fold(this.answers);
    } catch (error) {
      this.whole.fail(error as Error);
      return;
    }
    this.whole.fulfil(value, shape);
  }
}

const specsWithoutMapper = new WeakMap<CommandSpec, CommandSpec>();

/** The mapper runs once, on the combined reply. */
function withoutMapper(spec: CommandSpec): CommandSpec {
  if (spec.replyMapper === null) return spec;
  let plain = specsWithoutMapper.get(spec);
  if (plain === undefined) {
    plain = Object.assign(Object.create(Object.getPrototypeOf(spec)), spec, {
      replyMapper: null,
    }) as CommandSpec;
    specsWithoutMapper.set(spec, plain);
  }
  return plain;
}
