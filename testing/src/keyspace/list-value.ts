/**
 * A list: cheap at both ends. Two arrays back to back, the front one in reverse order.
 *
 *   front: | 2 | 1 | 0 |   back: | 3 | 4 | 5 |      (numbers: index in the list)
 */

export class ListValue {
  readonly type = "list";

  constructor(
    private front: string[] = [],
    private back: string[] = [],
    /** Set once the list has outgrown a listpack; it may shrink back. */
    public isBig = false,
  ) {}

  get size(): number {
    return this.front.length + this.back.length;
  }

  clone(): ListValue {
    return new ListValue([...this.front], [...this.back], this.isBig);
  }

  at(index: number): string | undefined {
    const { front } = this;
    return index < front.length ? front[front.length - 1 - index] : this.back[index - front.length];
  }

  set(index: number, value: string): void {
    const { front } = this;
    if (index < front.length) front[front.length - 1 - index] = value;
    else this.back[index - front.length] = value;
  }

  push(value: string): void {
    this.back.push(value);
  }

  unshift(value: string): void {
    this.front.push(value);
  }

  pop(): string | undefined {
    if (this.back.length === 0) this.balance();
    return this.back.length === 0 ? this.front.pop() : this.back.pop();
  }

  shift(): string | undefined {
    if (this.front.length === 0) this.balance();
    return this.front.length === 0 ? this.back.pop() : this.front.pop();
  }

  /** Elements from `start` to `end`, both included and inside the list. */
  slice(start: number, end: number): string[] {
    const values: string[] = [];
    for (let index = start; index <= end; index++) values.push(this.at(index) as string);
    return values;
  }

  toArray(): string[] {
    return [...this.front].reverse().concat(this.back);
  }

  replaceAll(values: string[]): void {
    this.front = [];
    this.back = values;
  }

  /** Moves half of one side's elements to the other side. */
  private balance(): void {
    const all = this.toArray();
    const half = all.length >> 1;
    this.front = all.slice(0, half).reverse();
    this.back = all.slice(half);
  }
}
