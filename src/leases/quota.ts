/** Limits how many requests are served together; further requests wait in order. */

import Denque from "denque";

export class Quota<Request> {
  private readonly waiting = new Denque<Request>();
  private used = 0;

  constructor(
    private readonly max: number,
    /** Serves a request until `release()`. Returns false for a request that is no longer wanted. */
    private readonly serve: (request: Request) => boolean,
  ) {}

  get waitingCount(): number {
    return this.waiting.length;
  }

  waitingAt(index: number): Request {
    return this.waiting.peekAt(index) as Request;
  }

  request(request: Request): void {
    this.waiting.push(request);
    this.next();
  }

  /** A served request has ended. */
  release(): void {
    this.used--;
    this.next();
  }

  /** Removes and returns the waiting requests. */
  takeWaiting(): Request[] {
    const requests = this.waiting.toArray();
    this.waiting.clear();
    return requests;
  }

  private next(): void {
    while (this.used < this.max && this.waiting.length > 0) {
      this.used++;
      if (!this.serve(this.waiting.shift() as Request)) this.used--;
    }
  }
}
