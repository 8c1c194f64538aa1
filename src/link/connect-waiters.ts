/** The callers of `connect()` whose attempt is not decided yet. */

interface Waiter {
  resolve(): void;
  reject(error: Error): void;
}

export class ConnectWaiters {
  private waiters: Waiter[] = [];

  add(): Promise<void> {
    return new Promise((resolve, reject) => this.waiters.push({ resolve, reject }));
  }

  /** One tick later, behind the listeners of `ready`. */
  resolve(): void {
    const waiters = this.takeAll();
    if (waiters.length === 0) return;
    process.nextTick(() => {
      for (const waiter of waiters) waiter.resolve();
    });
  }

  reject(error: Error): void {
    for (const waiter of this.takeAll()) waiter.reject(error);
  }

  private takeAll(): Waiter[] {
    const { waiters } = this;
    this.waiters = [];
    return waiters;
  }
}
