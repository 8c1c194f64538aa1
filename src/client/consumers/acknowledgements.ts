/**
 * Acknowledges finished messages, with one XACK for each stream and turn of the event loop. XACK is
 * idempotent, so it is repeated until the server has confirmed it or the client has ended.
 */

import { atTurnEnd, sleep } from "../../util/scheduling";
import { type ConsumingClient, commandOf, isPassing, Pauses } from "./consuming-client";
import type { Delivery, Source } from "./delivery";
import type { Sender } from "./sender";

interface Batch {
  readonly ids: string[];
  readonly confirmed: Promise<void>;
}

export class Acknowledgements {
  /** The batches of the current turn. */
  private readonly open = new Map<Source, Batch>();
  private readonly unconfirmed = new Set<Promise<void>>();

  constructor(
    private readonly client: ConsumingClient,
    private readonly sender: Sender,
    private readonly group: string,
    private readonly onFailed: (error: unknown) => void,
  ) {}

  /** Resolves when the server has confirmed it. */
  add({ source, id }: Delivery): Promise<void> {
    let batch = this.open.get(source);
    if (batch === undefined) {
      const ids: string[] = [];
      batch = { ids, confirmed: this.sendAtTurnEnd(source, ids) };
      this.open.set(source, batch);
    }
    batch.ids.push(id);
    return batch.confirmed;
  }

  /** Resolves when all acknowledgements are confirmed or given up. */
  async settled(): Promise<void> {
    while (this.unconfirmed.size > 0) await Promise.allSettled(this.unconfirmed);
  }

  private sendAtTurnEnd(source: Source, ids: readonly string[]): Promise<void> {
    const confirmed = new Promise<void>(atTurnEnd).then(() => {
      this.open.delete(source);
      return this.send(source, ids);
    });
    this.unconfirmed.add(confirmed);
    const forget = (): void => void this.unconfirmed.delete(confirmed);
    confirmed.then(forget, forget);
    return confirmed;
  }

  private async send(source: Source, ids: readonly string[]): Promise<void> {
    const pauses = new Pauses();
    for (let isConfirmed = false; !isConfirmed; ) {
      try {
        await this.sender.send(source.key, commandOf("XACK", [source.key, this.group, ...ids]));
        isConfirmed = true;
      } catch (error) {
        if (!isPassing(error, this.client)) {
          this.onFailed(error);
          throw error;
        }
        await sleep(pauses.next());
      }
    }
    for (const id of ids) source.held.delete(id);
  }
}
