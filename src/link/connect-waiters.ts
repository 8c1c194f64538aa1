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

  resolve(): void {
    for (const waiter of this.takeAll()) waiter.resolve();
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
