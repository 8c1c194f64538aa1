/**
 * The only code that decides when bytes leave. Nothing in flight: end of the current run
 * (`nextTick`), so a lone caller waits for nobody. Replies outstanding: end of the event-loop
 * turn (`setImmediate`), so commands issued from separate callbacks, as request handlers do,
 * still share one write. A batch larger than one stretch goes on in the next turn, so that
 * replies are read in between.
 */

export class FlushScheduler {
  private isBooked = false;
  private readonly run = (): void => {
    this.isBooked = false;
    this.flush();
  };

  constructor(private readonly flush: () => void) {}

  request(inFlight: number): void {
    if (this.isBooked) return;
    this.isBooked = true;
    if (inFlight === 0) process.nextTick(this.run);
    else setImmediate(this.run);
  }

  /** The next stretch of what did not fit into this flush. */
  requestNextTurn(): void {
    if (this.isBooked) return;
    this.isBooked = true;
    setImmediate(this.run);
  }
}
