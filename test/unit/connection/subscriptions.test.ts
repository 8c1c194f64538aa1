/** What is subscribed, byte for byte and by its kind, and what a gap tells of it. */

import { expect } from "chai";
import { gapOf, SubscriptionKind, Subscriptions } from "../../../src/connection/subscriptions";
import { clockMs } from "../../../src/util/scheduling";

const { Channel, Pattern, Shard } = SubscriptionKind;

describe("Subscriptions", () => {
  let changes: boolean[];
  let subscriptions: Subscriptions;

  beforeEach(() => {
    changes = [];
    subscriptions = new Subscriptions(() => void changes.push(subscriptions.isEmpty));
  });

  const bytes = (...all: number[]): Buffer => Buffer.from(all);

  it("is empty at first, and says so", () => {
    const { isEmpty, count } = subscriptions;
    expect([isEmpty, count, subscriptions.size(Channel), subscriptions.names(Shard)]).to.deep.equal([
      true,
      0,
      0,
      [],
    ]);
    expect(subscriptions.has(Pattern, Buffer.from("a"))).to.equal(false);
    subscriptions.delete(Channel, Buffer.from("a"));
    expect([subscriptions.isEmpty, changes]).to.deep.equal([true, [true]]);
  });

  it("keeps the kinds apart, each name once", () => {
    for (const kind of [Channel, Pattern, Shard, Channel]) subscriptions.add(kind, Buffer.from("a"));
    subscriptions.add(Channel, Buffer.from("b"));
    expect([subscriptions.count, subscriptions.size(Channel), subscriptions.size(Shard)]).to.deep.equal([
      4, 2, 1,
    ]);
    subscriptions.delete(Channel, Buffer.from("a"));
    expect([Channel, Pattern, Shard].map((kind) => subscriptions.has(kind, Buffer.from("a")))).to.deep.equal([
      false,
      true,
      true,
    ]);
    expect(subscriptions.names(Channel).map(String)).to.deep.equal(["b"]);
  });

  it("tells of each change when it is made, and whether anything is left", () => {
    subscriptions.add(Pattern, Buffer.from("a"));
    subscriptions.add(Shard, Buffer.from("b"));
    subscriptions.delete(Pattern, Buffer.from("a"));
    subscriptions.delete(Shard, Buffer.from("b"));
    subscriptions.add(Shard, Buffer.from("b"));
    subscriptions.clear();
    expect(changes).to.deep.equal([false, false, false, true, false, true]);
    expect([subscriptions.count, subscriptions.size(Shard)]).to.deep.equal([0, 0]);
  });

  it("takes names that are no text for what they are", () => {
    subscriptions.add(Channel, bytes(0xff, 0xfe));
    subscriptions.add(Channel, bytes(0xff, 0xfd));
    expect(subscriptions.names(Channel)).to.deep.equal([bytes(0xff, 0xfe), bytes(0xff, 0xfd)]);
    expect(subscriptions.has(Channel, bytes(0xff, 0xfc))).to.equal(false);
  });

  it("needs nobody who listens", () => {
    const alone = new Subscriptions();
    alone.add(Channel, Buffer.from("a"));
    expect(alone.isEmpty).to.equal(false);
  });

  it("is told as texts where messages were missed, with the time in whole milliseconds", () => {
    for (const [kind, name] of [
      [Channel, "é"],
      [Pattern, "p*"],
      [Shard, "s"],
    ] as const)
      subscriptions.add(kind, Buffer.from(name));
    const gap = gapOf(subscriptions, clockMs() - 1234.2);
    expect(gap).to.deep.include({ channels: ["é"], patterns: ["p*"], shardChannels: ["s"] });
    expect(gap.lastedMs).to.be.within(1234, 60_000);
    expect(Number.isInteger(gap.lastedMs)).to.equal(true);
  });
});
