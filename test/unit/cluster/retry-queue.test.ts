import { expect } from "chai";
import { type SinonFakeTimers, useFakeTimers } from "sinon";
import { grownDelay } from "../../../src/cluster/redirector";
import { RetryQueue, WaitReason } from "../../../src/cluster/retry-queue";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { PromiseCompletion } from "../../../src/command/promise-completion";

describe("retry queue", () => {
  let clock: SinonFakeTimers;
  let left: string[];
  let retries: RetryQueue;

  beforeEach(() => {
    clock = useFakeTimers();
    left = [];
    retries = new RetryQueue((commands) => {
      left.push(...commands.map(({ args }) => String(args[0])));
      for (const command of commands) command.fulfil(null, { protocol: 2, replyMapping: "legacy" });
    });
  });
  afterEach(() => clock.restore());

  function command(name: string, slot: number): Command {
    const made = new Command(specOf("get"), [name], false, new PromiseCompletion());
    made.slot = slot;
    return made;
  }

  it("let commands of one slot out together, returned ones before arrivals", () => {
    retries.giveBack(command("a", 1), WaitReason.ClusterDown, 100);
    expect(retries.isClosed(1)).to.equal(true);
    expect(retries.isClosed(2)).to.equal(false);
    retries.lineUp(command("d", 1));
    clock.tick(50);
    // Sent before the gate closed, answered after: older than what lined up.
    retries.giveBack(command("b", 1), WaitReason.ClusterDown, 100);
    retries.giveBack(command("c", 2), WaitReason.ClusterDown, 100);
    expect(retries.size).to.equal(4);
    clock.tick(49);
    expect(left).to.deep.equal([]);
    clock.tick(1);
    expect(left).to.deep.equal(["a", "b", "d"]);
    expect(retries.isClosed(1)).to.equal(false);
    expect(retries.isClosed(2)).to.equal(true);
    clock.tick(50);
    expect(left).to.deep.equal(["a", "b", "d", "c"]);
    expect(retries.size).to.equal(0);
  });

  it("do not spend the long delay of one command with the short one of another", () => {
    retries.giveBack(command("often", 1), WaitReason.ClusterDown, 2000);
    for (let slot = 2; slot < 20; slot++) {
      retries.giveBack(command(`${slot}`, slot), WaitReason.ClusterDown, 100);
      clock.tick(100);
      expect(left.pop()).to.equal(`${slot}`);
    }
    expect(left).to.deep.equal([]);
    // In the same slot, who has to wait longer decides for all: their order is kept.
    retries.giveBack(command("first", 1), WaitReason.ClusterDown, 100);
    retries.lineUp(command("behind", 1));
    clock.tick(100);
    expect(left).to.deep.equal([]);
    clock.tick(100);
    expect(left).to.deep.equal(["often", "first", "behind"]);
    retries.giveBack(command("short", 1), WaitReason.Failover, 100);
    retries.giveBack(command("long", 1), WaitReason.Failover, 400);
    clock.tick(399);
    expect(left).to.have.length(3);
    clock.tick(1);
    expect(left.slice(3)).to.deep.equal(["short", "long"]);
  });

  it("let commands that closed no gate go one by one", () => {
    retries.giveBack(command("a", 1), WaitReason.TryAgain, 300);
    retries.giveBack(command("b", 1), WaitReason.TryAgain, 100);
    clock.tick(100);
    expect(left).to.deep.equal(["b"]);
    clock.tick(200);
    expect(left).to.deep.equal(["b", "a"]);
  });

  it("keep a slot in the room that closed it, whatever the later reason is", () => {
    retries.giveBack(command("a", 1), WaitReason.Failover, 100);
    retries.giveBack(command("b", 1), WaitReason.ClusterDown, 10);
    clock.tick(50);
    expect(left).to.deep.equal([]);
    clock.tick(50);
    expect(left).to.deep.equal(["a", "b"]);
  });

  it("leave the gate open for TRYAGAIN", () => {
    retries.giveBack(command("a", 1), WaitReason.TryAgain, 100);
    expect(retries.isClosed(1)).to.equal(false);
    retries.onNews([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(left).to.deep.equal([]);
    clock.tick(100);
    expect(left).to.deep.equal(["a"]);
  });

  it("open early on news", () => {
    retries.giveBack(command("a", 1), WaitReason.Failover, 5000);
    retries.arrive(command("b", 2), WaitReason.Failover, 5000);
    retries.onNews([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(left).to.deep.equal(["a", "b"]);
    clock.tick(10_000);
    expect(left).to.have.length(2);
  });

  it("forget commands that ended while they waited", () => {
    const late = command("a", 1);
    retries.giveBack(late, WaitReason.Failover, 100);
    retries.giveBack(command("b", 1), WaitReason.Failover, 100);
    late.fulfil(null, { protocol: 2, replyMapping: "legacy" });
    clock.tick(100);
    expect(left).to.deep.equal(["b"]);
  });

  it("keep the order of a moved slot until its old owner has answered", () => {
    const last = command("last", 7);
    retries.keepOrder(1, last);
    retries.keepOrder(2, last);
    retries.lineUp(command("a", 1));
    retries.lineUp(command("b", 2));
    expect(retries.hasReturned(1)).to.equal(false);
    clock.tick(500);
    expect(left).to.deep.equal([]);
    last.fulfil(null, { protocol: 2, replyMapping: "legacy" });
    expect(left).to.deep.equal(["a", "b"]);
    expect(retries.isClosed(1)).to.equal(false);
  });

  it("also when the last command is given back, and not for ever", () => {
    const last = command("last", 7);
    retries.keepOrder(1, last);
    retries.lineUp(command("a", 1));
    retries.onReturned(last);
    expect(left).to.deep.equal(["a"]);
    retries.keepOrder(2, command("blocked", 7));
    retries.lineUp(command("b", 2));
    clock.tick(1000);
    expect(left).to.deep.equal(["a", "b"]);
  });

  it("hand everything over at once, oldest first", () => {
    retries.giveBack(command("a", 1), WaitReason.Failover, 100);
    retries.lineUp(command("c", 1));
    retries.giveBack(command("b", 2), WaitReason.TryAgain, 100);
    expect(retries.takeAll().map(({ args }) => args[0])).to.deep.equal(["a", "b", "c"]);
    clock.tick(1000);
    expect(left).to.deep.equal([]);
    expect(retries.isClosed(1)).to.equal(false);
  });

  it("wait longer from the fifth try on, within bounds", () => {
    expect([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16].map((tries) => grownDelay(100, tries))).to.deep.equal([
      100, 100, 100, 100, 200, 400, 800, 1600, 2000, 2000, 2000,
    ]);
    expect(grownDelay(5000, 10)).to.equal(5000);
  });
});
