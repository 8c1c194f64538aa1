/** An extra connection for blocking commands: a link of its own with the options of its client. */

import { Command, issuedBy, Origin } from "../command/command";
import { specOf } from "../command/command-table";
import { IGNORED } from "../command/promise-completion";
import type { LeasedLine } from "../link/blocking-lease";
import type { AbstractConnector } from "../link/connector";
import { Link } from "../link/link";
import type { LinkOptions, LinkOwner } from "../link/link-options";

export class LinkLine implements LeasedLine {
  private readonly link: Link;

  constructor(options: LinkOptions, connector: AbstractConnector, owner: LinkOwner, onTaken: () => void) {
    // Its command is handed over while it still connects.
    const ownOptions = Object.create(options, { enableOfflineQueue: { value: true } }) as LinkOptions;
    this.link = new Link(ownOptions, connector, new QuietOwner(owner, onTaken));
    this.link.connect().catch(() => {});
  }

  dispatch(command: Command): void {
    this.link.dispatch(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    this.link.dispatchBatch(commands);
  }

  useDb(db: number): void {
    if (this.link.session.db === db) return;
    this.link.dispatch(issuedBy(Origin.Client, new Command(specOf("select"), [String(db)], false, IGNORED)));
  }

  get isUsable(): boolean {
    return this.link.status !== "end";
  }

  /** At once: what blocks on it has nothing to wait for. */
  close(): void {
    const { connection } = this.link;
    this.link.disconnect();
    connection?.destroy();
  }
}

/** Errors and traces are the client's; the status words of an extra connection are not. */
class QuietOwner implements LinkOwner {
  readonly identity;

  constructor(
    private readonly owner: LinkOwner,
    private readonly onTaken: () => void,
  ) {
    this.identity = owner.identity;
  }

  credentials(): ReturnType<LinkOwner["credentials"]> {
    return this.owner.credentials();
  }

  onNamedError(type: string, error: Error): void {
    this.owner.onNamedError(type, error);
  }

  isTracing(): boolean {
    return this.owner.isTracing();
  }

  onWrite(command: Command): void {
    this.owner.onWrite(command);
  }

  onReplyError(command: Command, error: Error): boolean {
    const isTaken = this.owner.onReplyError(command, error);
    if (isTaken) this.onTaken();
    return isTaken;
  }

  adopts(command: Command): boolean {
    return this.owner.adopts(command);
  }

  onOrphans(commands: readonly Command[], error: Error): void {
    this.owner.onOrphans(commands, error);
    this.onTaken();
  }

  onStatus(): void {}
  onSelect(): void {}
  onMessage(): void {}
  onShardLost(): void {}
  onOtherPush(): void {}
  onMonitorLine(): void {}
}
