/**
 * "raw+p": requests encoded beforehand, one promise and one decoded value per command, one write per turn.
 *
 * It shows the lowest possible cost of a client with a promise API: no encoding, no errors, no reconnection,
 * no options. The commands of a turn are written together at its end.
 */

import Denque from "denque";
import { BareReader } from "./bare-reader";
import { BareSocket } from "./bare-socket";
import { prepareLoop } from "./load-loops";
import { encodeRequest, type Operation, requestWords } from "./operation";
import type { ClientSide, Issue, Load, LoadPlan, Target } from "./side";

const WRITE_BLOCK_BYTES = 65_536;

type Settle = (value: unknown) => void;

export class PromisedSocketSide implements ClientSide {
  readonly name = "raw+p";
  private socket: BareSocket | undefined;
  private readonly reader = new BareReader((value) => this.settleNext(value));
  /** Waiters in the order of sending; the first one receives the next reply. */
  private readonly waiters = new Denque<Settle>();
  private block = Buffer.allocUnsafeSlow(WRITE_BLOCK_BYTES);
  private filled = 0;
  private isBooked = false;

  async connect(target: Target): Promise<void> {
    this.socket = await BareSocket.open(target);
    this.socket.onBytes = (chunk) => this.reader.push(chunk);
  }

  async prepare(plan: LoadPlan): Promise<Load> {
    return prepareLoop(this, plan);
  }

  bind(operation: Operation): Issue {
    const request = encodeRequest(requestWords(operation));
    if (operation.kind === "getBuffer") this.reader.wantsBuffers = true;
    return () => {
      this.append(request);
      return new Promise((resolve) => this.waiters.push(resolve));
    };
  }

  bindBatch(operations: readonly Operation[], size: number): Issue {
    const requests: Buffer[] = [];
    for (let index = 0; index < size; index++) {
      const operation = operations[index % operations.length] as Operation;
      requests.push(encodeRequest(requestWords(operation)));
    }
    const bytes = Buffer.concat(requests);
    return () => {
      const replies = new Array<Promise<unknown>>(size);
      for (let index = 0; index < size; index++)
        replies[index] = new Promise((resolve) => this.waiters.push(resolve));
      this.flush();
      this.socket?.write(bytes);
      return Promise.all(replies);
    };
  }

  async close(): Promise<void> {
    this.socket?.close();
  }

  private settleNext(value: unknown): void {
    (this.waiters.shift() as Settle)(value);
  }

  private append(request: Buffer): void {
    if (this.filled + request.length > this.block.length) this.flush();
    if (request.length > this.block.length) {
      this.socket?.write(request);
      return;
    }
    request.copy(this.block, this.filled);
    this.filled += request.length;
    if (this.isBooked) return;
    this.isBooked = true;
    process.nextTick(() => this.flush());
  }

  private flush(): void {
    this.isBooked = false;
    if (this.filled === 0) return;
    this.socket?.write(Buffer.from(this.block.subarray(0, this.filled)));
    this.filled = 0;
  }
}
