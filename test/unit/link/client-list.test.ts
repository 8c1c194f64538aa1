/** The rows of CLIENT LIST, as servers of several versions print them. */

import { expect } from "chai";
import type { Connection } from "../../../src/connection/connection";
import { isArriving, isHeld, isHeldIn, numberIn, rowOf } from "../../../src/link/client-list";

const OWN =
  "id=17 addr=127.0.0.1:5000 laddr=127.0.0.1:6379 fd=8 name= age=12 idle=3 flags=N db=0 qbuf=0 cmd=get|x user=default";
const BLOCKED = "id=170 addr=127.0.0.1:50001 fd=9 name= age=1 idle=1 flags=xb db=0 qbuf=0 cmd=blpop user=b";
const OLD = "addr=127.0.0.1:5001 fd=9 name=flags=b age=4 idle=0 flags=N db=0 qbuf=12 cmd=set";
const ROWS = [BLOCKED, OLD, OWN];

function at(clientId: number | null, socket: object | null = null): Connection {
  return { clientId, socket } as unknown as Connection;
}

describe("rows of CLIENT LIST", () => {
  it("are found by the number of the connection, whatever its address", () => {
    expect(rowOf(ROWS, at(17, { localAddress: "10.0.0.1", localPort: 1 }))).to.equal(OWN);
    expect(rowOf(ROWS, at(1, { localAddress: "127.0.0.1", localPort: 5000 }))).to.equal(undefined);
  });

  it("are found by the address where no number is known", () => {
    expect(rowOf(ROWS, at(null, { localAddress: "::ffff:127.0.0.1", localPort: 50_001 }))).to.equal(BLOCKED);
    expect(rowOf(ROWS, at(null, { localAddress: "127.0.0.1", localPort: 5000 }))).to.equal(OWN);
    expect(rowOf(ROWS, at(null, { localAddress: "127.0.0.1", localPort: 6379 }))).to.equal(undefined);
    expect(rowOf(ROWS, at(null, {})), "a socket file").to.equal(undefined);
    expect(rowOf(ROWS, at(null)), "no socket").to.equal(undefined);
  });

  it("have numbers under whole names", () => {
    expect([numberIn(OWN, "id"), numberIn(OWN, "age"), numberIn(OWN, "fd")]).to.deep.equal([17, 12, 8]);
    expect([numberIn(OLD, "id"), numberIn(OWN, "d"), numberIn(OWN, "user")]).to.deep.equal([NaN, NaN, NaN]);
  });

  it("tell who is held back, and in which command", () => {
    expect(ROWS.map(isHeld)).to.deep.equal([true, false, false]);
    expect([
      isHeldIn(BLOCKED, "blpop"),
      isHeldIn(BLOCKED, "brpop"),
      isHeldIn(BLOCKED, undefined),
    ]).to.deep.equal([true, false, false]);
    expect(isHeldIn(OWN, "get"), "in none").to.equal(false);
    expect(isHeldIn(OWN.replace("flags=N", "flags=b"), "get"), "the command without its subcommand").to.equal(
      true,
    );
  });

  it("tell that a large command arrives: a part of it is there, and more was read just now", () => {
    expect(ROWS.map(isArriving)).to.deep.equal([false, true, false]);
    expect(isArriving(OLD.replace("idle=0", "idle=1"))).to.equal(true);
    expect(isArriving(OLD.replace("idle=0", "idle=2"))).to.equal(false);
  });
});
