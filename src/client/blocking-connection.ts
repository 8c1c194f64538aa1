/** An extra connection for blocking commands: a separate link with the options of its client. */

import { Command, issuedBy, Origin } from "../command/command";
import { specOf } from "../command/command-table";
import { IGNORED } from "../command/promise-completion";
import { BlockingLease, type LeasedConnection } from "../link/blocking-lease";
import type { AbstractConnector } from "../link/connector";
import { Link } from "../link/link";
import { type LinkDeps, type LinkOptions, withOthers } from "../link/link-options";

export { BlockingLease };

export class BlockingConnection implements LeasedConnection {
  private readonly link: Link;

  constructor(options: LinkOptions, connector: AbstractConnector, deps: LinkDeps, onTaken: () => void) {
    // Its command arrives while it still connects, so it needs a queue.
    const ownOptions = Object.create(options, { enableOfflineQueue: { value: true } }) as LinkOptions;
    this.link = new Link(ownOptions, connector, quiet(deps, onTaken));
    this.link.connect().catch(() => {});
  }

  dispatch(command: Command): void {
    this.link.dispatch(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    this.link.dispatchBatch(commands);
  }

  useDb(db: number): void {
    if (this.link.session.selected.db === db) return;
    this.link.dispatch(issuedBy(Origin.Client, new Command(specOf("select"), [String(db)], false, IGNORED)));
  }

  get isUsable(): boolean {
    return this.link.status !== "end";
  }

  /** Immediate: blocked commands have no reply to wait for. */
  close(): void {
    const { connection } = this.link;
    this.link.disconnect();
    connection?.destroy();
  }
}

/** The client reports errors and traces of an extra connection, but not its state. */
function quiet(deps: LinkDeps, onTaken: () => void): LinkDeps {
  const { listener, takeover } = deps;
  return withOthers(deps, {
    listener: {
      onStatus() {},
      onNamedError: (type, error) => listener.onNamedError(type, error),
      onSelect() {},
      onGap() {},
    },
    messages: null,
    redirects: (command, error) => {
      const isTaken = deps.redirects(command, error);
      if (isTaken) onTaken();
      return isTaken;
    },
    takeover: takeover && {
      takesOver: (command) => takeover.takesOver(command),
      takeOver: (commands, error) => {
        takeover.takeOver(commands, error);
        onTaken();
      },
      madeWhole: (commands) => takeover.madeWhole(commands),
    },
  });
}
