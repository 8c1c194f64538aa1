/**
 * A queue with two ends over a ring of slots: adding and taking at either end is one step however
 * long it is, where an array that is shifted moves all its elements.
 *
 *   slots:  | d | e |   |   |   | a | b | c |        length 5
 *                                 ^ front
 *
 * The ring doubles when it is full. An emptied place holds nothing, so that what was taken can be
 * collected.
 */

const FIRST_CAPACITY = 4;
/** An empty ring larger than this is given back: one burst must not keep its memory for ever. */
const KEPT_CAPACITY = 16_384;

export class Deque<Item extends object> {
  private slots: (Item | undefined)[];
  private mask: number;
  private front = 0;
  length = 0;

  constructor(items: readonly Item[] = []) {
    let capacity = FIRST_CAPACITY;
    while (capacity <= items.length) capacity *= 2;
    this.slots = new Array<Item | undefined>(capacity);
    this.mask = capacity - 1;
    for (const item of items) this.push(item);
  }

  push(item: Item): void {
    this.slots[(this.front + this.length) & this.mask] = item;
    this.length++;
    if (this.length > this.mask) this.grow();
  }

  unshift(item: Item): void {
    this.front = (this.front - 1) & this.mask;
    this.slots[this.front] = item;
    this.length++;
    if (this.length > this.mask) this.grow();
  }

  shift(): Item | undefined {
    if (this.length === 0) return undefined;
    const { front } = this;
    const item = this.slots[front];
    this.slots[front] = undefined;
    this.front = (front + 1) & this.mask;
    this.length--;
    if (this.length === 0 && this.mask >= KEPT_CAPACITY) this.clear();
    return item;
  }

  peekFront(): Item | undefined {
    return this.slots[this.front];
  }

  /** The item at a distance from the front; undefined behind the end. */
  peekAt(index: number): Item | undefined {
    return index < this.length ? this.slots[(this.front + index) & this.mask] : undefined;
  }

  toArray(): Item[] {
    const items = new Array<Item>(this.length);
    for (let index = 0; index < this.length; index++) {
      items[index] = this.slots[(this.front + index) & this.mask] as Item;
    }
    return items;
  }

  clear(): void {
    this.slots = new Array<Item | undefined>(FIRST_CAPACITY);
    this.mask = FIRST_CAPACITY - 1;
    this.front = 0;
    this.length = 0;
  }

  /** Full: the items move to a ring of twice the size, in order from its first slot. */
  private grow(): void {
    const { slots, front } = this;
    const size = slots.length;
    const larger = new Array<Item | undefined>(size * 2);
    for (let index = 0; index < size; index++) larger[index] = slots[(front + index) & this.mask];
    this.slots = larger;
    this.mask = size * 2 - 1;
    this.front = 0;
  }
}
