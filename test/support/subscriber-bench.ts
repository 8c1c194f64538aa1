/**
 * The frame in which the subscriber connections of a cluster client are tried on random programs: the
 * connections that were opened, the calls and how they ended, what is wanted and what was lost.
 */

import { expect } from "chai";
import type { ClusterNode } from "../../src/cluster/cluster-node";
import type { SubscriberClient, SubscriberSupervisor } from "../../src/cluster/subscriber-connection";
import type { Command } from "../../src/command/command";
import { Ending } from "./ending";
import { ModelSubscriber } from "./model-subscriber";
import type { InVirtualTime } from "./modules-in-virtual-time";

export type CommandModules = typeof import("../../src/command/command") &
  typeof import("../../src/command/command-table");

/** The modules of a reconciler of subscriptions and of what it places them on. */
export type ReconcilerModules = CommandModules &
  typeof import("../../src/cluster/subscription-reconciler") &
  typeof import("../../src/cluster/subscription-placement") &
  typeof import("../../src/cluster/cluster-node") &
  typeof import("../../src/cluster/slot-map");

/** Loads them anew, for `inVirtualTime`. */
export function reconcilerModules(): ReconcilerModules {
  return {
    ...require("../../src/cluster/subscription-reconciler"),
    ...require("../../src/cluster/subscription-placement"),
    ...require("../../src/cluster/cluster-node"),
    ...require("../../src/cluster/slot-map"),
    ...require("../../src/command/command"),
    ...require("../../src/command/command-table"),
  };
}

/** One call as the books see it. */
interface Call {
  readonly word: string;
  readonly names: readonly string[];
  /** The channels that it asks for or gives up, as `wanted` names them. */
  readonly keys: readonly string[];
  dispatch(command: Command): void;
}

export abstract class SubscriberBench<Modules extends CommandModules> {
  protected readonly connections: ModelSubscriber[] = [];
  protected readonly calls: { readonly command: Command; readonly ending: Ending }[] = [];
  /** Confirmed to a caller and not given up by one since. */
  protected readonly wanted = new Set<string>();
  /** When a connection lost what it had confirmed; a gap that tells it takes it out. */
  protected readonly lost = new Map<string, number>();
  protected readonly problems: string[] = [];

  constructor(protected readonly home: InVirtualTime<Modules>) {}

  protected readonly open = (node: ClusterNode, supervisor: SubscriberSupervisor): SubscriberClient => {
    const made = new ModelSubscriber(node, supervisor);
    this.connections.push(made);
    return made.client;
  };

  protected issue({ word, names, keys, dispatch }: Call): void {
    const ending = new Ending();
    const { Command: Made, specOf } = this.home.modules;
    const command = new Made(specOf(word), [...names], false, ending);
    const isEntry = !word.includes("un");
    this.calls.push({ command, ending });
    const forget = (): void => {
      for (const key of keys) {
        this.wanted.delete(key);
        this.lost.delete(key);
      }
    };
    dispatch(command);
    if (!isEntry && ending.error === null) forget();
    if (command.isSettled) return;
    command.ensureExtra().addHook({
      onSettled: (error) => {
        if (error !== null) return;
        if (isEntry) for (const key of keys) this.wanted.add(key);
        // Without names it gives up what is wanted when it is issued.
        else if (names.length > 0) forget();
      },
    });
  }

  protected noteLost(keys: readonly string[]): void {
    for (const key of keys) if (this.wanted.has(key)) this.lost.set(key, this.home.time.nowMs);
  }

  /** A gap names what is wanted, and is as long as the time since that was lost. */
  protected noteGap(keys: readonly string[], lastedMs: number): void {
    for (const key of keys) {
      if (!this.wanted.has(key)) this.problems.push(`a gap of ${key}, which nobody wants`);
      const lostAtMs = this.lost.get(key);
      this.lost.delete(key);
      if (lostAtMs !== undefined && lastedMs < Math.floor(this.home.time.nowMs - lostAtMs))
        this.problems.push(`a gap of ${lastedMs} ms, where ${key} was lost at ${lostAtMs}`);
    }
  }

  protected checkOnce(): void {
    for (const { ending } of this.calls) expect(ending.times).to.be.at.most(1);
  }

  /** After enough time every call has ended once and every loss is told. */
  protected checkBooks(): void {
    for (const { command, ending } of this.calls)
      expect(ending.times, `${command.spec.lowerName} ${command.args}`).to.equal(1);
    expect([...this.lost.keys()], "no gap has named it").to.deep.equal([]);
  }

  /** The subscriber was stopped for good: nothing is left of it. */
  protected checkEnd(): void {
    for (const one of this.connections) one.end();
    expect(this.home.time.pending, "timers").to.equal(0);
    expect(this.problems).to.deep.equal([]);
  }
}
