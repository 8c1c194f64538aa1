/** Commands behind the handshake: which ones are sent so early, and what they are after a handshake that failed. */

import { expect } from "chai";
import { Batch, BatchKind } from "../../../src/command/batch";
import { type Command, CommandState } from "../../../src/command/command";
import type { Connection } from "../../../src/connection/connection";
import { ReplyError } from "../../../src/errors";
import { AbstractConnector } from "../../../src/link/connector";
import { CurrentConnection } from "../../../src/link/current-connection";
import { OfflineQueue } from "../../../src/link/offline-queue";
import { markCertain } from "../../../src/util/error-hint";
import { CommandsOfTest } from "../../support/ending";

class AnyServer extends AbstractConnector {
  override connect(): never {
    throw new Error("not connected here");
  }
}

class MasterOnly extends AnyServer {
  override check(): boolean {
    return true;
  }
}

describe("early commands", () => {
  const made = new CommandsOfTest();
  let offline: OfflineQueue;
  let onConnection: Command[];

  beforeEach(() => {
    offline = new OfflineQueue();
    onConnection = [];
  });
  afterEach(() => made.failAll());

  interface Situation {
    readonly isOwnSocket?: boolean;
    readonly connector?: AbstractConnector;
    readonly monitor?: boolean;
    readonly retryPolicy?: "at-least-once" | "at-most-once";
    readonly isSubscribed?: boolean;
    readonly agreed?: number;
    readonly hasFailedAttempt?: boolean;
    readonly isFirst?: boolean;
    readonly isOfCluster?: boolean;
    readonly password?: string;
  }

  /** Sends what may be sent, with these commands waiting. */
  function send(waiting: readonly Command[], now: Situation = {}): CurrentConnection {
    for (const command of waiting) offline.push(command);
    const queue = {
      replaceAll: (replace: (command: Command) => Command) => {
        onConnection = onConnection.map(replace);
        for (const command of onConnection) made.add(command);
      },
    };
    const dispatch = (command: Command): void => void onConnection.push(command);
    const connection = { isOwnSocket: now.isOwnSocket ?? true, queue, dispatch } as unknown as Connection;
    const current = new CurrentConnection(
      {
        options: { monitor: now.monitor ?? false, retryPolicy: now.retryPolicy },
        connector: now.connector ?? new AnyServer(),
        offline,
        subscriptions: { isEmpty: !now.isSubscribed },
        hasFailedAttempt: now.hasFailedAttempt ?? false,
        hasBeenReady: now.isFirst !== true,
      },
      { takeover: now.isOfCluster ? {} : null } as never,
      now.agreed ?? 0,
    );
    current.connection = connection;
    current.open(current.agreed);
    current.sendEarly(now.password === undefined ? {} : { password: now.password });
    expect(current.early.length).to.equal(onConnection.length);
    return current;
  }

  const names = (commands: readonly Command[]): string[] => commands.map(({ spec }) => spec.lowerName);
  const get = (): Command => made.make("get", "k");
  const set = (): Command => made.make("set", "k", "v");

  it("sends reads up to the first command that has to know the outcome", () => {
    send([get(), get(), made.make("blpop", "k", "1"), get()]);
    expect([names(onConnection), names(offline.pending())]).to.deep.equal([
      ["get", "get"],
      ["blpop", "get"],
    ]);
  });

  it("sends a read of another database later", () => {
    const other = get();
    other.db = 1;
    send([other, get()]);
    expect(onConnection).to.deep.equal([]);
    offline.takeAll();
    send([other], { agreed: 1 });
    expect(onConnection).to.deep.equal([other]);
  });

  it("sends writes only in the first attempt, without a login or database, if they may be sent again", () => {
    const isSent = (now: Situation): boolean => {
      offline.takeAll();
      onConnection = [];
      send([set()], now);
      return onConnection.length === 1;
    };
    expect(isSent({ isFirst: true, retryPolicy: "at-least-once" })).to.equal(true);
    expect(isSent({ isFirst: true, retryPolicy: "at-most-once" })).to.equal(false);
    expect(isSent({ isFirst: false, retryPolicy: "at-least-once" })).to.equal(false);
    expect(isSent({ isFirst: true, isOfCluster: true, retryPolicy: "at-least-once" })).to.equal(false);
    expect(isSent({ isFirst: true, retryPolicy: "at-least-once", password: "p" })).to.equal(false);
  });

  it("sends no command early whose effect is not known", () => {
    const unknown = made.make("module.command", "k");
    send([unknown], { isFirst: true, retryPolicy: "at-least-once" });
    expect([onConnection, offline.pending()]).to.deep.equal([[], [unknown]]);
  });

  const NEVER: Record<string, Situation> = {
    "after a failed attempt": { hasFailedAttempt: true },
    "with subscriptions to restore": { isSubscribed: true },
    "for a monitor": { monitor: true },
    "over a stream of the user": { isOwnSocket: false },
    "if the connector checks the server": { connector: new MasterOnly(5) },
  };
  for (const [when, now] of Object.entries(NEVER)) {
    it(`sends nothing ${when}`, () => {
      const one = get();
      send([one], now);
      expect([onConnection, offline.pending()]).to.deep.equal([[], [one]]);
    });
  }

  it("takes them back as never written when no server has run them, and drops the replies", () => {
    const [written, waits, settled] = [set(), get(), get()];
    const current = send([written, waits, settled], { isFirst: true });
    written.state = CommandState.Sent;
    settled.fail(new Error("given up"));
    current.withdraw(null);
    expect(offline.pending()).to.deep.equal([written, waits]);
    expect([written.state, written.mayHaveRun, waits.state]).to.deep.equal([
      CommandState.Queued,
      false,
      CommandState.Queued,
    ]);
    const states = onConnection.map(({ state }) => state);
    expect(states, "an unwritten one is skipped").to.deep.equal([
      CommandState.Sent,
      CommandState.Settled,
      CommandState.Settled,
    ]);
    expect(onConnection).to.not.include(written).and.not.include(waits);
    expect(current.early.length).to.equal(0);
  });

  it("knows that a refusal of the client ran none, and that another error may have run a written write", () => {
    const mayHaveRun = (refusal: Error): boolean[] => {
      offline.takeAll();
      onConnection = [];
      const commands = [set(), get(), set()];
      const current = send(commands, { isFirst: true });
      for (const one of commands.slice(0, 2)) one.state = CommandState.Sent;
      current.withdraw(refusal);
      return commands.map((one) => one.mayHaveRun);
    };
    for (const text of ["NOAUTH Authentication required.", "LOADING Redis is loading the dataset in memory"])
      expect(mayHaveRun(new ReplyError(text)), text).to.deep.equal([false, false, false]);
    expect(mayHaveRun(new ReplyError("ERR invalid DB index"))).to.deep.equal([true, false, false]);
    expect(mayHaveRun(new Error("NOAUTH"))).to.deep.equal([true, false, false]);
  });

  it("takes them back after an error that tells that no server of this kind is there, not after another one", () => {
    const one = get();
    const current = send([one]);
    current.onTrouble(new Error("reset"));
    expect(current.early.length).to.equal(1);
    current.onTrouble(markCertain(new Error("an HTTP server")));
    expect([current.early.length, offline.pending()]).to.deep.equal([0, [one]]);
  });

  it("has none to take back once the connection is ready", () => {
    const current = send([get()]);
    current.early = [];
    current.withdraw(null);
    expect([onConnection.length, offline.length]).to.deep.equal([1, 0]);
  });

  it("takes back a transaction as one that has not begun, and forgets when it was written", () => {
    const one = get();
    const extra = one.ensureExtra();
    extra.group = new Batch(BatchKind.Pipeline, 0, null);
    extra.group.isStarted = true;
    extra.sentAtMs = 5;
    const current = send([one]);
    one.state = CommandState.Sent;
    current.withdraw(null);
    expect([one.group?.isStarted, extra.sentAtMs]).to.deep.equal([false, 0]);
  });
});
