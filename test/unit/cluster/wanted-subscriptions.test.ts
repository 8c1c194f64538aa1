/** The channels that the callers of a cluster want to hear, whatever its connections know of them, and when a gap is over. */

import { expect } from "chai";
import { WantedSubscriptions } from "../../../src/cluster/wanted-subscriptions";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { SubscriptionKind } from "../../../src/connection/subscriptions";
import { Ending } from "../../support/ending";

const SHAPE = { protocol: 2, replyMapping: "legacy" } as const;
const { Channel, Pattern, Shard } = SubscriptionKind;

describe("WantedSubscriptions", () => {
  const made: Command[] = [];
  let wanted: WantedSubscriptions;
  let changed: string[];

  beforeEach(() => {
    changed = [];
    wanted = new WantedSubscriptions((kind, names) => void changed.push(`${kind} ${names.join(" ")}`));
  });
  afterEach(() => {
    for (const one of made.splice(0)) one.fail(new Error("the test is over"));
  });

  function follow(name: string, ...names: (string | Buffer)[]): Command {
    const one = new Command(specOf(name), names, false, new Ending());
    made.push(one);
    wanted.follow(one);
    return one;
  }

  function confirmed(name: string, ...names: (string | Buffer)[]): Command {
    const one = follow(name, ...names);
    one.fulfil(1, SHAPE);
    return one;
  }

  const namesOf = (kind: SubscriptionKind): string[] => wanted.names.names(kind).map(String);
  const asked = (kind: SubscriptionKind, name: string): boolean => wanted.isAsked(kind, Buffer.from(name));

  it("wants a name from the confirmation on", () => {
    const one = follow("subscribe", "a", Buffer.from("b"));
    expect([namesOf(Channel), changed]).to.deep.equal([[], []]);
    one.fulfil(1, SHAPE);
    expect(namesOf(Channel)).to.deep.equal(["a", "b"]);
    expect(changed).to.deep.equal([`${Channel} a b`]);
  });

  it("keeps the kinds apart", () => {
    confirmed("subscribe", "x");
    confirmed("psubscribe", "x");
    confirmed("ssubscribe", "x");
    follow("punsubscribe", "x");
    expect([namesOf(Channel), namesOf(Pattern), namesOf(Shard)]).to.deep.equal([["x"], [], ["x"]]);
    follow("sunsubscribe", "x");
    expect([namesOf(Channel), namesOf(Shard)]).to.deep.equal([["x"], []]);
  });

  it("wants it no more as soon as its UNSUBSCRIBE is issued, even if that fails", () => {
    confirmed("subscribe", "a", "b");
    follow("unsubscribe", "a").fail(new Error("lost"));
    expect(namesOf(Channel)).to.deep.equal(["b"]);
  });

  it("ends all of a kind by UNSUBSCRIBE without names, those that are confirmed before its answer included", () => {
    confirmed("subscribe", "a", "b");
    const late = follow("subscribe", "c");
    const end = follow("unsubscribe");
    expect(namesOf(Channel)).to.deep.equal([]);
    late.fulfil(1, SHAPE);
    expect(namesOf(Channel)).to.deep.equal(["c"]);
    end.fulfil(0, SHAPE);
    expect(namesOf(Channel)).to.deep.equal([]);
  });

  it("knows which names are asked for", () => {
    const one = follow("subscribe", "a", "b");
    const failing = follow("ssubscribe", "c");
    expect([asked(Channel, "b"), asked(Pattern, "b"), asked(Channel, "c"), asked(Shard, "c")]).to.deep.equal([
      true,
      false,
      false,
      true,
    ]);
    one.fulfil(1, SHAPE);
    failing.fail(new Error("no"));
    expect([asked(Channel, "b"), asked(Shard, "c")]).to.deep.equal([false, false]);
    expect(namesOf(Shard)).to.deep.equal([]);
  });

  it("follows no other command, and none that is over", () => {
    const over = new Command(specOf("subscribe"), ["a"], false, new Ending());
    over.fail(new Error("given up"));
    wanted.follow(over);
    expect(asked(Channel, "a")).to.equal(false);
    confirmed("get", "a");
    expect(changed).to.deep.equal([]);
  });

  it("forgets what the server refuses", () => {
    confirmed("subscribe", "a", "b");
    wanted.miss(Channel, Buffer.from("a"));
    wanted.forget(Channel, [Buffer.from("a")]);
    expect(namesOf(Channel)).to.deep.equal(["b"]);
    expect(wanted.takeGap()).to.equal(null);
  });

  it("tells a gap with the names that were missing, once", () => {
    confirmed("subscribe", "a", "b");
    confirmed("ssubscribe", "s");
    expect(wanted.takeGap()).to.equal(null);
    wanted.miss(Channel, Buffer.from("a"));
    wanted.miss(Shard, Buffer.from("s"));
    wanted.miss(Channel, Buffer.from("not wanted"));
    const gap = wanted.takeGap();
    expect([gap?.channels, gap?.patterns, gap?.shardChannels]).to.deep.equal([["a"], [], ["s"]]);
    expect(wanted.takeGap()).to.equal(null);
  });

  it("tells no gap of what was given up meanwhile", () => {
    confirmed("subscribe", "a");
    wanted.miss(Channel, Buffer.from("a"));
    follow("unsubscribe", "a");
    expect(wanted.takeGap()).to.equal(null);
    wanted.miss(Channel, Buffer.from("never"));
    expect(wanted.takeGap()).to.equal(null);
    confirmed("subscribe", "a");
    wanted.miss(Channel, Buffer.from("a"));
    wanted.clear();
    expect([wanted.takeGap(), namesOf(Channel)]).to.deep.equal([null, []]);
  });
});
