import { expect } from "chai";
import { type SinonFakeTimers, useFakeTimers } from "sinon";
import type { NodeClient } from "../../../src/cluster/cluster-node";
import { grownDelay } from "../../../src/cluster/redirector";
import { RetryQueue, type WaitReason } from "../../../src/cluster/retry-queue";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { PromiseCompletion } from "../../../src/command/promise-completion";
import { ReplyError } from "../../../src/errors";

const TEXT = { protocol: 2, replyMapping: "legacy" } as const;

function queue(sendAgain: (commands: readonly Command[]) => void): RetryQueue {
  return new RetryQueue({ router: { sendAgain }, pool: { forgetDown() {} } });
}

describe("retry queue", () => {
  let clock: SinonFakeTimers;
  let left: string[];
  let retries: RetryQueue;
  /** The commands that a node was given and has not answered. */
  let given: Command[];
  const node = {
    link: { connection: { queue: { head: () => given[0] } } },
    lastOf: (slot: number) => given.findLast((one) => one.slot === slot && !one.isSettled) ?? null,
    youngest: () => new Map(given.filter((one) => !one.isSettled).map((one) => [one.slot, one])),
  } as unknown as NodeClient;

  beforeEach(() => {
    clock = useFakeTimers();
    left = [];
    given = [];
    retries = queue((commands) => {
      left.push(...commands.map(({ args }) => String(args[0])));
    });
    retries.resume();
  });
  afterEach(() => {
    // Its timer would go on by the real clock.
    retries.takeAll();
    clock.restore();
  });

  function command(name: string, slot: number): Command {
    const made = new Command(specOf("get"), [name], false, new PromiseCompletion());
    made.slot = slot;
    return made;
  }

  function give(name: string, slot: number): Command {
    const made = command(name, slot);
    given.push(made);
    return made;
  }

  function giveBack(one: Command, reason: WaitReason, delayMs: number): void {
    given = given.filter((other) => other !== one);
    retries.giveBack([{ command: one, reason, delayMs }], [one], node);
  }

  /** All of them wait for the whole time, and are then sent in this order. */
  function expectOrder(names: readonly string[], waitMs: number): void {
    clock.tick(waitMs - 1);
    expect(left).to.deep.equal([]);
    clock.tick(1);
    expect(left).to.deep.equal(names);
  }

  it("lets commands of one slot out together, returned ones before arrivals", () => {
    giveBack(command("a", 0), "not served", 100);
    expect(retries.isHeld(0)).to.equal(true);
    expect(retries.isHeld(2)).to.equal(false);
    retries.lineUp(command("d", 0));
    clock.tick(50);
    // Sent before the slot was held, answered after: older than what lined up.
    giveBack(command("b", 0), "not served", 100);
    giveBack(command("c", 2), "not served", 100);
    expect(retries.size).to.equal(4);
    clock.tick(49);
    expect(left).to.deep.equal([]);
    clock.tick(1);
    expect(left).to.deep.equal(["a", "b", "d"]);
    expect(retries.isHeld(0)).to.equal(false);
    expect(retries.isHeld(2)).to.equal(true);
    clock.tick(50);
    expect(left).to.deep.equal(["a", "b", "d", "c"]);
    expect(retries.size).to.equal(0);
  });

  it("holds every slot while its node has a command of it in flight, the first slot too", () => {
    const last = give("a", 0);
    retries.hold(0, node);
    retries.hold(1, node);
    expect([0, 1].map((slot) => retries.isHeld(slot))).to.deep.equal([true, false]);
    retries.lineUp(command("b", 0));
    last.fulfil("1", TEXT);
    given = [];
    clock.tick(1);
    expect([left, retries.isHeld(0)]).to.deep.equal([["b"], false]);
  });

  it("tells whether a command waits for a delay, and not only for others of its slot", () => {
    give("a", 0);
    retries.hold(0, node);
    retries.lineUp(command("b", 0));
    expect(retries.hasDelayed, "for another command").to.equal(false);
    giveBack(command("c", 2), "not served", 100);
    expect(retries.hasDelayed, "for an owner").to.equal(true);
    clock.tick(100);
    expect(retries.hasDelayed).to.equal(false);
    giveBack(command("d", -1), "not served", 100);
    expect(retries.hasDelayed, "without a slot").to.equal(true);
  });

  it("holds all slots of a node that have commands in flight, each until its youngest has ended", () => {
    const [older, youngest, other] = [give("older", 1), give("youngest", 1), give("other", 2)];
    retries.holdAll([1, 2, 3], node);
    expect([1, 2, 3].map((slot) => retries.isHeld(slot))).to.deep.equal([true, true, false]);
    for (const slot of [1, 2]) retries.lineUp(command(`new ${slot}`, slot));
    older.fulfil(null, TEXT);
    expect(left).to.deep.equal([]);
    other.fulfil(null, TEXT);
    expect(left).to.deep.equal(["new 2"]);
    youngest.fulfil(null, TEXT);
    expect(left).to.deep.equal(["new 2", "new 1"]);
  });

  it("keeps waiting for the command for which a slot is held already", () => {
    const first = give("first", 0);
    retries.hold(0, node);
    const second = give("second", 0);
    retries.holdAll([0], node);
    retries.lineUp(command("new", 0));
    first.fulfil(null, TEXT);
    expect(left).to.deep.equal(["new"]);
    second.fulfil(null, TEXT);
  });

  it("sends commands without a slot at once if they need not wait, and otherwise after their delays", () => {
    giveBack(command("at once", -1), "moved", 0);
    expect(left).to.deep.equal(["at once"]);
    retries.putBack([command("later", -1)], { reason: "not served", delayMs: 100 });
    expect([retries.size, retries.isHeld(-1)]).to.deep.equal([1, false]);
    clock.tick(99);
    expect(left).to.deep.equal(["at once"]);
    clock.tick(1);
    expect(left).to.deep.equal(["at once", "later"]);
  });

  it("does not spend the long delay of one slot with the short one of another", () => {
    giveBack(command("often", 0), "not served", 2000);
    for (let slot = 2; slot < 20; slot++) {
      giveBack(command(`${slot}`, slot), "not served", 100);
      clock.tick(100);
      expect(left.pop()).to.equal(`${slot}`);
    }
    expect(left).to.deep.equal([]);
    // In the same slot the longest delay decides for all: their order is kept.
    giveBack(command("first", 0), "not served", 100);
    retries.lineUp(command("behind", 0));
    clock.tick(100);
    expect(left).to.deep.equal([]);
    clock.tick(100);
    expect(left).to.deep.equal(["often", "first", "behind"]);
    giveBack(command("short", 0), "not served", 100);
    giveBack(command("long", 0), "not served", 400);
    clock.tick(399);
    expect(left).to.have.length(3);
    clock.tick(1);
    expect(left.slice(3)).to.deep.equal(["short", "long"]);
  });

  it("lets commands that hold no slot go one by one", () => {
    giveBack(command("a", 0), "try again", 300);
    giveBack(command("b", 0), "try again", 100);
    giveBack(command("without keys", -1), "not served", 200);
    expect(retries.isHeld(0)).to.equal(false);
    retries.onNewOwners([0, 2, 3]);
    expect(left).to.deep.equal([]);
    clock.tick(100);
    expect(left).to.deep.equal(["b"]);
    clock.tick(100);
    expect(left).to.deep.equal(["b", "without keys"]);
    clock.tick(100);
    expect(left).to.deep.equal(["b", "without keys", "a"]);
  });

  it("sends a command that waits alone behind those for which its slot is held by then", () => {
    giveBack(command("b", 0), "try again", 100);
    giveBack(command("a", 0), "not served", 300);
    expectOrder(["a", "b"], 300);
  });

  it("lets the longest wait decide, whatever the later reason is", () => {
    giveBack(command("a", 0), "not served", 100);
    giveBack(command("b", 0), "not served", 10);
    expectOrder(["a", "b"], 100);
  });

  it("opens early on news", () => {
    giveBack(command("a", 0), "not served", 5000);
    retries.putBack([command("b", 2)], { reason: "not served", delayMs: 5000 });
    giveBack(command("c", 3), "moved", 200);
    retries.onNewOwners([0, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(left).to.deep.equal(["a", "b"]);
    clock.tick(10_000);
    expect(left).to.deep.equal(["a", "b", "c"]);
  });

  it("forgets commands that ended while they waited", () => {
    const late = command("a", 0);
    giveBack(late, "not served", 100);
    giveBack(command("b", 0), "not served", 100);
    late.fulfil(null, TEXT);
    clock.tick(100);
    expect(left).to.deep.equal(["b"]);
  });

  it("waits until the node has answered or given back what it has of the slot", () => {
    const [a, b, other, c, d] = [give("a", 0), give("b", 0), give("other", 2), give("c", 0), give("d", 0)];
    giveBack(a, "moved", 0);
    retries.lineUp(command("new", 0));
    expect(left).to.deep.equal([]);
    expect(retries.isHeld(2)).to.equal(false);
    b.fulfil(null, TEXT);
    giveBack(c, "moved", 0);
    expect(left).to.deep.equal([]);
    d.fulfil(null, TEXT);
    expect(left).to.deep.equal(["a", "c", "new"]);
    expect(retries.isHeld(0)).to.equal(false);
    expect(other.isSettled).to.equal(false);
  });

  it("waits for the older ones when the youngest is given up", () => {
    const [older, younger] = [give("older", 0), give("younger", 0)];
    retries.hold(0, node);
    retries.lineUp(command("new", 0));
    younger.fail(new Error("timeout"));
    expect(left).to.deep.equal([]);
    giveBack(older, "moved", 0);
    expect(left).to.deep.equal(["older", "new"]);
  });

  it("waits for the older ones when it waited for a command of another slot, and that one is given up", () => {
    const [older, far] = [give("older", 0), give("far", 5)];
    // After a long search, a node returns a younger command of any slot.
    const searched: NodeClient = { ...node, lastOf: (slot) => (far.isSettled ? node.lastOf(slot) : far) };
    retries.hold(0, searched);
    retries.lineUp(command("new", 0));
    far.fail(new Error("timeout"));
    expect(left).to.deep.equal([]);
    giveBack(older, "moved", 0);
    expect(left).to.deep.equal(["older", "new"]);
  });

  it("holds a slot only if the node has something of it, and not for ever", () => {
    retries.hold(0, node);
    expect(retries.isHeld(0)).to.equal(false);
    give("stuck", 0);
    retries.hold(0, node);
    retries.lineUp(command("a", 0));
    clock.tick(999);
    expect(left).to.deep.equal([]);
    clock.tick(1);
    expect(left).to.deep.equal(["a"]);
    expect(retries.isHeld(0)).to.equal(false);
  });

  it("holds a slot while the node answers other commands, however long, and not much longer", () => {
    const others = Array.from({ length: 8 }, (_, i) => give(`other ${i}`, 2));
    give("old", 0);
    retries.hold(0, node);
    retries.lineUp(command("new", 0));
    for (const other of others) {
      clock.tick(900);
      given = given.filter((one) => one !== other);
    }
    expect(left).to.deep.equal([]);
    clock.tick(1500);
    expect(left).to.deep.equal(["new"]);
  });

  it("a pause of the process does not count as silence of the node", () => {
    const other = give("other", 2);
    const old = give("old", 0);
    retries.hold(0, node);
    retries.lineUp(command("new", 0));
    // The timer runs late, and before the replies are read.
    clock.setSystemTime(Date.now() + 5000);
    clock.tick(500);
    given = given.filter((one) => one !== other);
    clock.tick(500);
    expect(left).to.deep.equal([]);
    old.fulfil(null, TEXT);
    expect(left).to.deep.equal(["new"]);
  });

  it("sends those that were asked elsewhere alone, and the rest behind their answers", () => {
    const sent: Command[] = [];
    retries = queue((commands) => {
      left.push(...commands.map(({ args }) => String(args[0])));
      sent.push(...commands);
      given.push(...commands);
      if (commands[0]?.extra?.trail?.next?.isAsk) retries.holdBehind(commands, node);
      for (const { extra } of commands) if (extra?.trail) extra.trail.next = null;
    });
    retries.resume();
    const asked = ["a", "b"].map((name) => {
      const made = command(name, 0);
      const next = { host: "h", port: 1, isAsk: true };
      made.ensureExtra().trail = { count: 1, nodes: [], next, avoided: null, askingError: null };
      return made;
    });
    const rest = give("c", 0);
    for (const one of asked) giveBack(one, "moved", 0);
    giveBack(rest, "moved", 0);
    retries.lineUp(command("new", 0));
    expect(left).to.deep.equal(["a", "b"]);
    sent[0]?.fulfil(null, TEXT);
    expect(left).to.deep.equal(["a", "b"]);
    sent[1]?.fulfil(null, TEXT);
    expect(left).to.deep.equal(["a", "b", "c", "new"]);
    expect(retries.isHeld(0)).to.equal(false);
  });

  describe("after a refusal", () => {
    /** Sends the oldest of three commands, and returns the commands that follow its outcome. */
    function sentAfter(end: (first: Command) => void): string[] {
      retries = queue((commands) => {
        left.push(...commands.map(({ args }) => String(args[0])));
        if (retries.isHeld(0)) retries.holdBehind(commands, node);
      });
      retries.resume();
      const first = command("first", 0);
      giveBack(first, "not served", 100);
      for (const name of ["second", "third"]) retries.lineUp(command(name, 0));
      clock.tick(100);
      expect(left.splice(0)).to.deep.equal(["first"]);
      end(first);
      return left;
    }

    const OUTCOMES: readonly (readonly [string, (first: Command) => void, string[]])[] = [
      ["a reply", (first) => first.fulfil(null, TEXT), ["second", "third"]],
      ["an error reply", (first) => first.fail(new ReplyError("WRONGTYPE wrong kind")), ["second", "third"]],
      [
        "another refusal",
        (first) => first.fail(new ReplyError("CLUSTERDOWN Hash slot not served")),
        ["second"],
      ],
      ["a MOVED that leads nowhere", (first) => first.fail(new ReplyError("MOVED 1 h:1")), ["second"]],
      ["a timeout", (first) => first.fail(new Error("timeout")), ["second"]],
    ];
    for (const [what, end, following] of OUTCOMES) {
      it(`${what} lets out ${following.length === 2 ? "all commands" : "the next one only"}`, () => {
        expect(sentAfter(end)).to.deep.equal(following);
      });
    }
  });

  it("keeps what could not be sent before all that waits", () => {
    giveBack(command("b", 0), "not served", 100);
    retries.putBack([command("a", 0)], { reason: "not served", delayMs: 50 });
    clock.tick(100);
    expect(left).to.deep.equal(["a", "b"]);
  });

  it("keeps what comes back while the cluster is closed, in order, and sends all of it when it is open", () => {
    giveBack(command("b", 0), "not served", 100);
    retries.lineUp(command("c", 0));
    retries.pause();
    giveBack(command("other", 2), "moved", 0);
    clock.tick(1000);
    expect(left).to.deep.equal([]);
    retries.resume();
    expect(left).to.have.members(["b", "c", "other"]);
    expect(left.indexOf("b")).to.be.lessThan(left.indexOf("c"));
    expect(retries.size).to.equal(0);
  });

  it("hands over more commands than a function takes arguments", () => {
    const count = 200_000;
    giveBack(command("a", 0), "not served", 100);
    const later = command("c", 0);
    for (let i = 1; i < count; i++) retries.lineUp(later);
    expect(retries.takeAll().length).to.equal(count);
  });

  it("hands everything over at once, oldest first", () => {
    giveBack(command("a", 0), "not served", 100);
    retries.lineUp(command("c", 0));
    giveBack(command("b", 2), "try again", 100);
    expect(retries.takeAll().map(({ args }) => args[0])).to.deep.equal(["a", "b", "c"]);
    expect([retries.size, retries.pending()]).to.deep.equal([0, []]);
    clock.tick(1000);
    expect(left).to.deep.equal([]);
    expect(retries.isHeld(0)).to.equal(false);
  });

  it("waits longer from the fifth try on, within bounds", () => {
    const delays = Array.from({ length: 16 }, (_, tries) => grownDelay(100, tries + 1));
    expect(delays.slice(0, 4)).to.deep.equal([100, 100, 100, 100]);
    expect(delays).to.deep.equal([...delays].sort((a, b) => a - b));
    // Servers take 15 s to notice a failed master by default, and some more to replace it.
    expect(delays.reduce((sum, delayMs) => sum + delayMs)).to.be.within(30_000, 40_000);
    expect(grownDelay(5000, 10)).to.equal(5000);
  });

  it("opens the slot before the last commands that wait for it are sent", () => {
    const held: boolean[] = [];
    retries = queue(() => void held.push(retries.isHeld(0)));
    retries.resume();
    const last = give("a", 0);
    retries.hold(0, node);
    for (const name of ["b", "c"]) retries.lineUp(command(name, 0));
    last.fulfil(null, TEXT);
    expect(held).to.deep.equal([false]);
  });

  it("keeps a command that goes to the owner before one that a node has named", () => {
    const sent: Command[][] = [];
    retries = queue((commands) => void sent.push([...commands]));
    retries.resume();
    const [plain, asked] = [command("plain", 0), command("asked", 0)];
    const next = { host: "h", port: 1, isAsk: true };
    asked.ensureExtra().trail = { count: 1, nodes: [], next, avoided: null, askingError: null };
    const last = give("last", 0);
    retries.hold(0, node);
    for (const one of [plain, asked]) retries.lineUp(one);
    last.fulfil(null, TEXT);
    expect(sent).to.deep.equal([[plain], [asked]]);
  });

  it("waits behind no command that may block or has no slot", () => {
    const blocking = new Command(specOf("blpop"), ["k", "0"], false, new PromiseCompletion());
    blocking.slot = 0;
    retries.holdBehind([blocking], node);
    retries.holdBehind([command("without keys", -1)], node);
    expect([retries.isHeld(0), retries.isHeld(-1)]).to.deep.equal([false, false]);
    const one = command("a", 0);
    retries.holdBehind([one, blocking], node);
    expect(retries.isHeld(0)).to.equal(true);
    one.fulfil(null, TEXT);
    expect(retries.isHeld(0)).to.equal(false);
    blocking.fulfil(null, TEXT);
  });

  it("waits for nothing any more once everything was handed over", () => {
    const [older, younger] = [give("older", 0), give("younger", 0)];
    retries.hold(0, node);
    retries.lineUp(command("new", 0));
    expect(retries.takeAll()).to.have.length(1);
    younger.fail(new Error("timeout"));
    expect(clock.countTimers()).to.equal(0);
    older.fail(new Error("timeout"));
    expect(left).to.deep.equal([]);
  });

  it("sends commands that come back while it sends in the next round", () => {
    let depth = 0;
    const depths: number[] = [];
    const again = [command("again", 1)];
    retries = queue(() => {
      depths.push(++depth);
      const next = again.shift();
      if (next !== undefined) giveBack(next, "moved", 0);
      depth--;
    });
    retries.resume();
    giveBack(command("first", 0), "moved", 0);
    expect(depths).to.deep.equal([1, 1]);
    expect(retries.size).to.equal(0);
  });
});
