/**
 * The server's time: that of the process, moved by `advance`. The time stands still while a batch
 * of commands, a transaction or a script runs, as it does in a server. `Date.now` is asked by name
 * each time, so that fake timers of a test move the server too.
 */

export class Clock {
  private offset = 0;
  private frozen = 0;

  /** Milliseconds since 1970, as of the last `tick`. */
  get now(): number {
    return this.frozen === 0 ? this.tick() : this.frozen;
  }

  /** Reads the time anew. */
  tick(): number {
    this.frozen = Date.now() + this.offset;
    return this.frozen;
  }

  advance(milliseconds: number): void {
    this.offset += milliseconds;
    this.tick();
  }

  get position(): number {
    return this.offset;
  }

  /** Puts the clock where it was; see `TestServer.restore`. */
  moveTo(position: number): void {
    this.offset = position;
    this.tick();
  }
}
