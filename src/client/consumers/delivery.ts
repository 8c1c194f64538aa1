/** One message of a stream while this process holds it, and the streams of a consumer. */

import { MessageTakenError } from "../../leases/lease-errors";
import { INSPECT, type InspectArguments } from "../../util/inspect";
import { setOwn } from "../../util/own-property";

/** A message of `redis.consume()`. */
export interface StreamMessage<Value = string> {
  readonly stream: string;
  readonly id: string;
  /** Values by field name. If a name is repeated, its last value. */
  readonly fields: Readonly<Record<string, Value>>;
  /** Names and values in the order of the entry: `[name, value, name, value, ...]`. */
  readonly pairs: readonly Value[];
  /** How often the group has delivered the message, this time included. */
  readonly deliveries: number;
  /**
   * Aborts if another consumer has claimed the message meanwhile, because this process was paused or disconnected for
   * longer than `claimIdleMs`. Its reason is a `MessageTakenError`.
   */
  readonly signal: AbortSignal;
  /** Acknowledges the message now. Resolves when the server has confirmed it. */
  ack(): Promise<void>;
}

export type Value = string | Buffer;

/** One stream of a consumer. */
export class Source {
  /** The messages that are unfinished or unconfirmed, by ID. */
  readonly held = new Map<string, Delivery>();
  /** The position in the list of pending messages at which the next claim continues. */
  cursor = "0-0";
  renewal: NodeJS.Timeout | undefined;

  constructor(
    readonly name: string,
    /** The name with the prefix of the client. */
    readonly key: string,
  ) {}
}

/** An entry as the server has delivered it. */
export type DeliveredEntry = Pick<StreamMessage<Value>, "id" | "pairs" | "deliveries">;

interface Acknowledger {
  /** Resolves when the server has confirmed it. Its rejection needs no handler. */
  add(delivery: Delivery): Promise<void>;
}

export class Delivery implements StreamMessage<Value> {
  readonly stream: string;
  readonly id: string;
  readonly pairs: readonly Value[];
  readonly deliveries: number;
  readonly fields: Record<string, Value> = {};
  private confirmed: Promise<void> | null = null;
  private controller: AbortController | null = null;
  isLost = false;

  constructor(
    readonly source: Source,
    { id, pairs, deliveries }: DeliveredEntry,
    private readonly acknowledger: Acknowledger,
  ) {
    this.stream = source.name;
    this.id = id;
    this.pairs = pairs;
    this.deliveries = deliveries;
    for (let index = 0; index + 1 < pairs.length; index += 2)
      setOwn(this.fields, String(pairs[index]), pairs[index + 1]);
  }

  /** Its acknowledgement is in flight, or confirmed. */
  get isFinished(): boolean {
    return this.confirmed !== null;
  }

  get signal(): AbortSignal {
    if (this.controller === null) {
      this.controller = new AbortController();
      if (this.isLost) this.controller.abort(new MessageTakenError());
    }
    return this.controller.signal;
  }

  ack(): Promise<void> {
    this.confirmed ??= this.acknowledger.add(this);
    return this.confirmed;
  }

  /** Another consumer has the message. */
  lose(): void {
    if (this.isFinished || this.isLost) return;
    this.isLost = true;
    this.controller?.abort(new MessageTakenError());
  }

  [INSPECT](_depth: number, ...[style, inspect]: InspectArguments): string {
    const { stream, id, fields, deliveries } = this;
    return inspect({ stream, id, fields, deliveries }, style);
  }
}
