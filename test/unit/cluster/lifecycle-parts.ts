import type { Command } from "../../../src/command/command";

/** The parts of a cluster client that its lifecycle moves, and what they were told. */
export class Parts {
  readonly told: string[] = [];
  readonly sent: string[] = [];
  /** Connections to nodes. */
  clients: { dispatch(command: Command): void; leave?(): Promise<unknown> }[] = [];
  isSealed = true;
  findSeeds: () => Promise<unknown[]> = async () => [];
  refresh: (mayAskSeeds?: boolean) => Promise<void> = async () => {};
  against: Error | null = null;
  delayMs: unknown = 100;
  /** Code of the user that is told of a status, in the retry strategy, and in a listener of `error`. */
  onStatus: (status: string) => void = () => {};
  onStrategy: () => void = () => {};
  onError: () => void = () => {};
  readonly attempts: [number, string | undefined][] = [];
  kept: Command[] = [];
  readonly router = {
    isOpen: false,
    watches: { clear: () => void this.told.push("watches cleared") },
    dispatch: (one: Command) => void this.sent.push(String(one.args[0])),
    dispatchBatch: (batch: readonly Command[]) =>
      void this.sent.push(batch.map(({ args }) => args[0]).join("+")),
  };
  readonly redirector = { isActive: false };
  readonly retries = {
    pause: () => void this.told.push("pause"),
    resume: () => void this.told.push("resume"),
    takeAll: () => this.kept.splice(0),
  };
  readonly refresher = {
    start: () => void this.told.push("refresher on"),
    stop: () => void this.told.push("refresher off"),
    refresh: (mayAskSeeds: boolean) => this.refresh(mayAskSeeds),
    reasonAgainst: async () => this.against,
  };
  readonly pool = this.makePool();

  private makePool() {
    const parts = this;
    return {
      get isSealed() {
        return parts.isSealed;
      },
      set isSealed(isSealed) {
        parts.isSealed = isSealed;
      },
      clear: () => {
        this.isSealed = true;
        this.told.push("cleared");
      },
      allClients: () => this.clients,
      sample: () => this.clients[0] ?? null,
      clientOf: (node: unknown) => node,
    };
  }
}
