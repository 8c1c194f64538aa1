/**
 * SCAN over a whole cluster as if it were one server: one master after the other, until every slot with an
 * owner is done. The cursor is the whole state, so a scan may continue in another process. A slot is done
 * when its owner has been scanned from beginning to end and still owns it. Slots that moved meanwhile are
 * scanned at their new owner. The successor of a master is scanned from the beginning. Elements may be
 * returned more than once.
 */

import type { ClusterNode } from "../../cluster/cluster-node";
import { SLOT_COUNT } from "../../command/slot";
import { ArgumentError, OutcomeUnknownError } from "../../errors";
import { sleep } from "../../util/scheduling";
import type { ClusterWiring } from "../cluster/cluster-wiring";

export type ScanReply = [cursor: string, elements: unknown[]];

type Slots = ReadonlySet<number>;

/** The part of the cursor that is the same for all pages of one server. */
interface Stage {
  /** As it is written in the cursor. */
  readonly text: string;
  /** The name of the server that is being scanned; empty between two servers. */
  readonly node: string;
  /** The slots that the server owned at the beginning of its scan and that were not done. */
  readonly slots: Slots;
  readonly done: Slots;
}

const FINAL = "0";
const NO_SLOTS: Slots = new Set();
/** The first part of a cursor: a later form gets another number. */
const VERSION = "1";
const SEPARATOR = "|";
const SERVER_CURSOR = /^\d+$/;
const RANGES = /^(?:\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)?$/;
const BEGINNING = makeStage("", NO_SLOTS, NO_SLOTS);
const MAX_FAILURES = 30;
const PAUSE_MS = 200;

const scanners = new WeakMap<ClusterWiring, ClusterScanner>();

export function scannerOf(wiring: ClusterWiring, untilReady: () => Promise<unknown>): ClusterScanner {
  let scanner = scanners.get(wiring);
  if (scanner === undefined) {
    scanner = new ClusterScanner(wiring, untilReady);
    scanners.set(wiring, scanner);
  }
  return scanner;
}

export class ClusterScanner {
  /** The stage of the last page: most pages belong to the same one. */
  private last = BEGINNING;

  constructor(
    private readonly wiring: Pick<ClusterWiring, "slots" | "refresher" | "openView">,
    private readonly untilReady: () => Promise<unknown>,
  ) {}

  scan(cursor: string | Buffer, ...args: unknown[]): Promise<ScanReply> {
    return this.next("scan", cursor, args);
  }

  scanBuffer(cursor: string | Buffer, ...args: unknown[]): Promise<ScanReply> {
    return this.next("scanBuffer", cursor, args);
  }

  private async next(command: string, given: string | Buffer, args: unknown[]): Promise<ScanReply> {
    let [cursor, stage] = this.parse(String(given));
    for (let failures = 1; ; failures++) {
      await this.untilReady();
      let node = this.nodeOf(stage);
      if (node === null) {
        node = this.nextNode(stage);
        if (node === null) return [FINAL, []];
        stage = this.begin(node, stage.done);
        cursor = FINAL;
      }
      try {
        const [following, elements] = await this.ask(node, command, [cursor, ...args]);
        if (String(following) !== FINAL) return [this.format(String(following), stage), elements];
        const after = await this.finish(stage);
        return [this.nextNode(after) === null ? FINAL : this.format(FINAL, after), elements];
      } catch (error) {
        if (failures > MAX_FAILURES || !isLoss(error as Error)) throw error;
        await sleep(PAUSE_MS);
        await this.refresh();
        // Another master may own its slots now, and its cursors are different.
        stage = makeStage("", NO_SLOTS, stage.done);
      }
    }
  }

  /** The server of the stage while it owns one of its slots. */
  private nodeOf({ node, slots }: Stage): ClusterNode | null {
    for (const slot of slots) {
      const owner = this.wiring.slots.ownerOf(slot);
      if (owner?.key === node) return owner;
    }
    return null;
  }

  private nextNode({ done }: Stage): ClusterNode | null {
    for (let slot = 0; slot < SLOT_COUNT; slot++) {
      const owner = done.has(slot) ? null : this.wiring.slots.ownerOf(slot);
      if (owner !== null) return owner;
    }
    return null;
  }

  private begin({ key }: ClusterNode, done: Slots): Stage {
    return makeStage(key, new Set(this.slotsOf(key).filter((slot) => !done.has(slot))), done);
  }

  /** The server of the stage is scanned to the end. The refresh shows which slots have moved meanwhile. */
  private async finish({ node, slots, done }: Stage): Promise<Stage> {
    await this.refresh();
    const kept = this.slotsOf(node).filter((slot) => slots.has(slot));
    return makeStage("", NO_SLOTS, new Set([...done, ...kept]));
  }

  private slotsOf(key: string): number[] {
    const slots: number[] = [];
    for (let slot = 0; slot < SLOT_COUNT; slot++)
      if (this.wiring.slots.ownerOf(slot)?.key === key) slots.push(slot);
    return slots;
  }

  /** Without permission to read the slot table, the client keeps its own, which redirects correct. */
  private async refresh(): Promise<void> {
    await this.wiring.refresher.refresh().catch(() => {});
  }

  private ask(node: ClusterNode, command: string, args: unknown[]): Promise<ScanReply> {
    const view = this.wiring.openView(node) as unknown as Record<string, (...args: unknown[]) => unknown>;
    return (view[command] as (...args: unknown[]) => Promise<ScanReply>).apply(view, args);
  }

  private format(cursor: string, stage: Stage): string {
    this.last = stage;
    return [VERSION, cursor, stage.text].join(SEPARATOR);
  }

  private parse(text: string): [cursor: string, stage: Stage] {
    if (text === FINAL) return [FINAL, BEGINNING];
    const [version, cursor = "", ...rest] = text.split(SEPARATOR);
    const stageText = rest.join(SEPARATOR);
    const stage = stageText === this.last.text ? this.last : parseStage(rest);
    if (version !== VERSION || !SERVER_CURSOR.test(cursor) || stage === null) {
      const reason = `it is not a cursor of this scan. Begin with "${FINAL}", and continue with the cursor of the last reply`;
      throw new ArgumentError("scan", 1, reason);
    }
    return [cursor, stage];
  }
}

function makeStage(node: string, slots: Slots, done: Slots): Stage {
  return { text: [node, rangesOf(slots), rangesOf(done)].join(SEPARATOR), node, slots, done };
}

function parseStage([node = "", slots = "", done = "", ...rest]: readonly string[]): Stage | null {
  if (!RANGES.test(slots) || !RANGES.test(done) || rest.length > 0) return null;
  return makeStage(node, slotsIn(slots), slotsIn(done));
}

/** "0-5460,7000" */
function rangesOf(slots: Slots): string {
  const ranges: string[] = [];
  for (let from = 0; from < SLOT_COUNT; from++) {
    if (!slots.has(from)) continue;
    let to = from;
    while (slots.has(to + 1)) to++;
    ranges.push(to === from ? `${from}` : `${from}-${to}`);
    from = to;
  }
  return ranges.join(",");
}

function slotsIn(ranges: string): Slots {
  const slots = new Set<number>();
  for (const range of ranges === "" ? [] : ranges.split(",")) {
    const [from = 0, to = from] = range.split("-").map(Number);
    for (let slot = from; slot <= Math.min(to, SLOT_COUNT - 1); slot++) slots.add(slot);
  }
  return slots;
}

/**
 * Includes a SCAN that the retry policy does not allow to be sent again: its master is then scanned from the
 * beginning.
 */
function isLoss(error: Error): boolean {
  return (
    error.message === "Connection is closed." ||
    error instanceof OutcomeUnknownError ||
    /^(LOADING|MASTERDOWN|CLUSTERDOWN) /.test(error.message)
  );
}
