/**
 * A sorted set: a map from member to node and an array in order of score, then bytes of the
 * member. Binary search finds a place; moving the tail of an array is faster than a skip list for
 * as many members as tests have.
 */

export interface ScoredMember {
  readonly member: string;
  readonly score: number;
}

function compare(a: ScoredMember, b: ScoredMember): number {
  if (a.score !== b.score) return a.score < b.score ? -1 : 1;
  if (a.member === b.member) return 0;
  return a.member < b.member ? -1 : 1;
}

export class SortedSetValue {
  readonly type = "zset";

  constructor(
    private readonly nodes: Map<string, ScoredMember> = new Map(),
    private ordered: ScoredMember[] = [],
    /** Set once it has outgrown a listpack. */
    public isBig = false,
  ) {}

  get size(): number {
    return this.nodes.size;
  }

  /** All members, lowest score first. */
  get members(): readonly ScoredMember[] {
    return this.ordered;
  }

  clone(): SortedSetValue {
    return new SortedSetValue(new Map(this.nodes), [...this.ordered], this.isBig);
  }

  scoreOf(member: string): number | undefined {
    return this.nodes.get(member)?.score;
  }

  has(member: string): boolean {
    return this.nodes.has(member);
  }

  /** Adds a member or moves it. True if it is new. */
  set(member: string, score: number): boolean {
    const old = this.nodes.get(member);
    if (old !== undefined) {
      if (old.score === score) return false;
      this.ordered.splice(this.position(old), 1);
    }
    // A listpack keeps whole scores as integers, which have no -0.
    const node = { member, score: score === 0 && !this.isBig ? 0 : score };
    this.nodes.set(member, node);
    const { ordered } = this;
    const last = ordered[ordered.length - 1];
    if (last === undefined || compare(last, node) < 0) ordered.push(node);
    else ordered.splice(this.position(node), 0, node);
    return old === undefined;
  }

  delete(member: string): boolean {
    const node = this.nodes.get(member);
    if (node === undefined) return false;
    this.nodes.delete(member);
    this.ordered.splice(this.position(node), 1);
    return true;
  }

  /** Removes the members from `start` to `end`, both included, and gives them back. */
  removeRange(start: number, end: number): ScoredMember[] {
    const removed = this.ordered.splice(start, end - start + 1);
    for (const { member } of removed) this.nodes.delete(member);
    return removed;
  }

  /** Place from the lowest score on, or -1. */
  rankOf(member: string): number {
    const node = this.nodes.get(member);
    return node === undefined ? -1 : this.position(node);
  }

  /** Index of the first member that is not before the limit. `isBefore` is true for a first part of the order. */
  lowerBound(isBefore: (node: ScoredMember) => boolean): number {
    let low = 0;
    let high = this.ordered.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBefore(this.ordered[middle] as ScoredMember)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private position(node: ScoredMember): number {
    return this.lowerBound((other) => compare(other, node) < 0);
  }
}
