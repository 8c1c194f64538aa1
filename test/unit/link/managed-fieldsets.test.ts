/** The option `himportFieldsets` on one link: which SETs are sent again behind a PREPARE, and what becomes of them. */

import { expect } from "chai";
import { Batch, BatchKind } from "../../../src/command/batch";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { ConnectionState } from "../../../src/connection/connection-state";
import type { Fieldset } from "../../../src/connection/handshake";
import { ReplyError } from "../../../src/errors";
import { fieldsetOf, type ManagedFieldsetDeps, ManagedFieldsets } from "../../../src/link/managed-fieldsets";
import { Ending } from "../../support/ending";

const SHAPE = { protocol: 2, replyMapping: "legacy" } as const;
const USERS: Fieldset = { name: "users", fields: ["name", "age"] };
const ITEMS: Fieldset = { name: "items", fields: ["price"] };
const FORGOTTEN = new ReplyError("ERR no such fieldset");

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

class Connected {
  state: ConnectionState = ConnectionState.Ready;
  readonly prepares: Command[] = [];

  dispatchBatch(commands: readonly Command[]): void {
    this.prepares.push(...commands);
  }
}

describe("ManagedFieldsets", () => {
  const made: Command[] = [];
  let connection: Connected;
  let current: { connection: Connected | null; readonly isReady: boolean; send(command: Command): void };
  let told: [verb: string, command: Command][];
  let fieldsets: ManagedFieldsets;

  beforeEach(() => {
    told = [];
    connection = new Connected();
    current = {
      connection,
      get isReady() {
        return this.connection?.state === ConnectionState.Ready;
      },
      send: (command) => void told.push(["sent", command]),
    };
    const queueUnsent = (command: Command): void => void told.push(["kept", command]);
    fieldsets = new ManagedFieldsets([USERS, ITEMS], {
      current,
      queueUnsent,
    } as unknown as ManagedFieldsetDeps);
  });
  afterEach(() => {
    for (const one of [...made.splice(0), ...connection.prepares]) one.fail(new Error("the test is over"));
  });

  function set(name: string | Buffer, kind?: BatchKind): Command {
    const one = new Command(specOf("himport"), ["SET", "key", name, "1", "2"], false, new Ending());
    if (kind !== undefined) one.batch = new Batch(kind, 1, null);
    made.push(one);
    return one;
  }

  /** The SET was refused. */
  const recover = (one: Command): boolean => fieldsets.recovers(one, FORGOTTEN);
  const prepared = (): string[] => connection.prepares.map(({ args }) => args.map(String).join(" "));
  const failure = (command: Command): string | undefined => (command.completion as Ending).error?.message;

  it("knows a fieldset by its name, also if it is the only one", () => {
    const set = (...args: string[]): Command => {
      const command = new Command(specOf("himport"), args, false, new Ending());
      made.push(command);
      return command;
    };
    expect(fieldsetOf([USERS], set("set", "key", "users", "v"))).to.equal(USERS);
    expect(fieldsetOf([USERS], set("set", "key", "items", "v"))).to.equal(undefined);
    expect(fieldsetOf([USERS, ITEMS], set("SET", "key", "items", "v"))).to.equal(ITEMS);
    expect(fieldsetOf([USERS], set("prepare", "users", "users"))).to.equal(undefined);
    expect(fieldsetOf([], set("set", "key", "users", "v"))).to.equal(undefined);
  });

  it("prepares a fieldset that is missing, and sends the SET behind it", async () => {
    const one = set(Buffer.from("users"));
    expect(recover(one)).to.equal(true);
    expect(prepared()).to.deep.equal(["PREPARE users name age"]);
    await turn();
    expect(told).to.deep.equal([]);
    connection.prepares[0]?.fulfil("OK", SHAPE);
    await turn();
    expect(told).to.deep.equal([["sent", one]]);
  });

  it("asks once for all that wait for the same fieldset, in their order", async () => {
    const all = [set("users"), set("users")];
    for (const one of all) recover(one);
    expect(prepared()).to.have.length(1);
    connection.prepares[0]?.fulfil("OK", SHAPE);
    await turn();
    expect(told).to.deep.equal(all.map((one) => ["sent", one]));
  });

  it("fails a SET with a copy of the error of its PREPARE", async () => {
    const [one, other] = [set("users"), set("users")];
    recover(one);
    recover(other);
    connection.prepares[0]?.fail(new ReplyError("ERR too many fieldsets"));
    await turn();
    expect([failure(one), failure(other)]).to.deep.equal([
      "ERR too many fieldsets",
      "ERR too many fieldsets",
    ]);
    expect((one.completion as Ending).error).not.to.equal((other.completion as Ending).error);
    expect(told).to.deep.equal([]);
  });

  it("keeps a SET for the next connection when its own is lost, or another has come", async () => {
    for (const change of [
      () => (connection.state = ConnectionState.Closed),
      () => (current.connection = new Connected()),
    ]) {
      connection = current.connection = new Connected();
      const one = set("users");
      recover(one);
      change();
      connection.prepares[0]?.fulfil("OK", SHAPE);
      await turn();
      expect(told.splice(0)).to.deep.equal([["kept", one]]);
    }
  });

  it("does nothing for a SET that was given up meanwhile", async () => {
    const one = set("users");
    recover(one);
    one.fail(new Error("given up"));
    connection.prepares[0]?.fulfil("OK", SHAPE);
    await turn();
    expect(told).to.deep.equal([]);
  });

  it("leaves members of a transaction where they are", () => {
    expect(recover(set("users", BatchKind.Transaction))).to.equal(false);
    expect(recover(set("users", BatchKind.Pipeline))).to.equal(true);
  });

  it("sends a SET again, once, whose fieldset the server has forgotten", async () => {
    const one = set("users");
    expect(fieldsets.recovers(one, new ReplyError("WRONGTYPE no hash"))).to.equal(false);
    expect(fieldsets.recovers(one, FORGOTTEN)).to.equal(true);
    expect(prepared()).to.deep.equal(["PREPARE users name age"]);
    connection.prepares[0]?.fulfil("OK", SHAPE);
    await turn();
    expect(told).to.deep.equal([["sent", one]]);
    expect(fieldsets.recovers(one, FORGOTTEN)).to.equal(false);
    expect(fieldsets.recovers(set("users"), FORGOTTEN)).to.equal(true);
    expect(fieldsets.recovers(set("others"), FORGOTTEN)).to.equal(false);
  });

  it("prepares all of them again on a connection that is ready", () => {
    fieldsets.prepareAll();
    expect(prepared()).to.deep.equal(["PREPARE users name age", "PREPARE items price"]);
    connection.state = ConnectionState.Handshaking;
    fieldsets.prepareAll();
    expect(prepared()).to.have.length(2);
    current.connection = null;
    fieldsets.prepareAll();
    expect(recover(set("users"))).to.equal(false);
  });
});
