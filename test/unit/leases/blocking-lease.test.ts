/** Blocking commands over connections of their own: who gets one, who waits, and which connection may be lent again. */

import { expect } from "chai";
import { Batch, BatchKind } from "../../../src/command/batch";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import type { Dispatcher } from "../../../src/command/dispatcher";
import { ConnectionClosedError, ReplyError } from "../../../src/errors";
import { BlockingLease } from "../../../src/leases/blocking-lease";
import { type Borrower, ConnectionPool, type ExtraConnection } from "../../../src/leases/connection-pool";
import { Ending } from "../../support/ending";

const SHAPE = { protocol: 2, replyMapping: "legacy" } as const;

class Extra implements ExtraConnection {
  borrower: Borrower | null = null;
  isUsable = true;
  isClosed = false;
  readonly told: string[] = [];
  command: Command | null = null;

  useDb(db: number): void {
    this.told.push(`db ${db}`);
  }

  dispatch(command: Command): void {
    this.told.push(String(command.args[0]));
    this.command = command;
  }

  dispatchBatch(): void {
    throw new Error("A leased connection gets single commands");
  }

  close(): void {
    this.isClosed = true;
  }
}

describe("BlockingLease", () => {
  const made: Command[] = [];
  let extras: Extra[];
  let shared: string[];
  let lease: BlockingLease;
  let pool: ConnectionPool<ExtraConnection>;
  let db: number;
  let isBound: boolean;

  beforeEach(() => {
    extras = [];
    shared = [];
    [db, isBound] = [0, false];
    const next: Dispatcher = {
      dispatch: ({ args }) => void shared.push(String(args[0])),
      dispatchBatch: (commands) => void shared.push(commands.map(({ args }) => args[0]).join("+")),
    };
    const make = (): Extra => {
      const extra = new Extra();
      extras.push(extra);
      return extra;
    };
    pool = new ConnectionPool<ExtraConnection>(make, Number.POSITIVE_INFINITY);
    lease = new BlockingLease(next, 2, pool, {
      currentDb: () => db,
      isBoundToShared: () => isBound,
    });
  });
  afterEach(() => {
    for (const one of made.splice(0)) one.fail(new Error("the test is over"));
  });

  function command(name: string, key: string): Command {
    const one = new Command(specOf(name), [key, "0"], false, new Ending());
    made.push(one);
    return one;
  }

  function block(key: string): Command {
    const one = command("blpop", key);
    lease.dispatch(one);
    return one;
  }

  /** As a client does that ends. */
  function close(): readonly Command[] {
    const waiting = lease.takeWaiting();
    pool.closeIdle();
    for (const connection of pool.connections) pool.close(connection);
    return waiting;
  }

  it("sends what blocks over a connection of its own, and all else over the shared one", () => {
    block("a");
    lease.dispatch(command("get", "b"));
    expect(extras.map(({ told }) => told)).to.deep.equal([["db 0", "a"]]);
    expect(shared).to.deep.equal(["b"]);
  });

  it("tells a connection the database of the moment of the call", () => {
    db = 1;
    block("a");
    block("b");
    const late = block("c");
    db = 2;
    expect(late.db).to.equal(1);
    made[0]?.fulfil(null, SHAPE);
    expect(extras[0]?.told).to.deep.equal(["db 1", "a", "db 1", "c"]);
  });

  it("makes no more connections than it may: further commands wait in their order", () => {
    const [first] = [block("a"), block("b"), block("c"), block("d")];
    expect(extras).to.have.length(2);
    expect(lease.waitingCount).to.equal(2);
    first?.fulfil(null, SHAPE);
    expect(lease.waitingCount).to.equal(1);
    expect(extras[0]?.told).to.deep.equal(["db 0", "a", "db 0", "c"]);
    expect(extras).to.have.length(2);
  });

  it("lends a connection again when its command was answered, if only with an error reply", () => {
    block("a").fulfil(null, SHAPE);
    block("b").fail(new ReplyError("WRONGTYPE no list"));
    block("c");
    expect(extras).to.have.length(1);
    expect(extras[0]?.isClosed).to.equal(false);
  });

  it("closes a connection on which the server may still be waiting", () => {
    block("a").fail(new Error("given up"));
    expect(extras[0]?.isClosed).to.equal(true);
    block("b");
    expect(extras).to.have.length(2);
    expect(extras[1]?.told).to.deep.equal(["db 0", "b"]);

    const left = block("c");
    left.ensureExtra().isLeftBlocked = true;
    left.fulfil(null, SHAPE);
    expect(extras[2]?.isClosed).to.equal(true);
  });

  it("passes over a command that was given up while it waited", () => {
    const [first, , given, last] = [block("a"), block("b"), block("c"), block("d")];
    given?.fail(new Error("given up"));
    first?.fulfil(null, SHAPE);
    expect(extras[0]?.told).to.deep.equal(["db 0", "a", "db 0", "d"]);
    expect(last?.isSettled).to.equal(false);
    expect(lease.waitingCount).to.equal(0);
  });

  it("does not lend an idle connection that has given up reconnecting", () => {
    block("a").fulfil(null, SHAPE);
    (extras[0] as Extra).isUsable = false;
    block("b");
    block("c");
    expect(extras.map(({ told }) => told)).to.deep.equal([
      ["db 0", "a"],
      ["db 0", "b"],
      ["db 0", "c"],
    ]);
  });

  it("has a connection free as soon as its command goes on elsewhere", () => {
    const [first] = [block("a"), block("b"), block("c")];
    extras[0]?.borrower?.onTaken();
    expect(extras[0]?.told).to.deep.equal(["db 0", "a", "db 0", "c"]);
    // The command settles late: by then the connection is lent to another one.
    first?.fulfil(null, SHAPE);
    block("d");
    expect(lease.waitingCount).to.equal(1);
    expect(extras).to.have.length(2);

    (extras[1] as Extra).isUsable = false;
    extras[1]?.borrower?.onTaken();
    expect(extras[1]?.isClosed).to.equal(true);
    expect(extras[2]?.told).to.deep.equal(["db 0", "d"]);
  });

  it("leaves what blocks on the shared connection while it is bound to it", () => {
    isBound = true;
    block("a");
    expect([shared, extras]).to.deep.equal([["a"], []]);
  });

  it("takes a single command out of no batch, and no batch apart", () => {
    lease.dispatchBatch([command("blpop", "a")]);
    lease.dispatchBatch([command("get", "b")]);
    lease.dispatchBatch([command("blpop", "c"), command("get", "d")]);
    const member = command("blpop", "e");
    member.batch = new Batch(BatchKind.Pipeline, 1, null);
    lease.dispatchBatch([member]);
    expect(extras.map(({ told }) => told)).to.deep.equal([["db 0", "a"]]);
    expect(shared).to.deep.equal(["b", "c+d", "e"]);
  });

  it("closes every connection and hands back what waits, and lends nothing afterwards to the late", () => {
    const [first, , waiting] = [block("a"), block("b"), block("c")];
    const refused = close();
    expect(refused).to.deep.equal([waiting]);
    expect(extras.map(({ isClosed }) => isClosed)).to.deep.equal([true, true]);
    expect(lease.waitingCount).to.equal(0);
    first?.fail(new ConnectionClosedError());
    expect(extras).to.have.length(2);
  });

  it("begins anew when its client does: with new connections, as many as it may have", () => {
    block("a");
    block("b").fulfil(null, SHAPE);
    close();
    block("c");
    block("d");
    expect(extras.map(({ told }) => told.at(-1))).to.deep.equal(["a", "b", "c", "d"]);
    block("e");
    expect(extras).to.have.length(4);
  });

  it("has a connection free once, whoever says it again", () => {
    const first = block("a");
    const borrower = extras[0]?.borrower;
    first.fulfil(null, SHAPE);
    borrower?.onTaken();
    block("b");
    block("c");
    expect(extras.map(({ told }) => told.at(-1))).to.deep.equal(["b", "c"]);
  });
});
