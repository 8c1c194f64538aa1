/** Messages of two connections with the same subscriptions: each one is delivered once. */

import { expect } from "chai";
import { Overlap } from "../../../src/maintenance/overlap";
import { DecodedMessage, type Message, MessagePart } from "../../../src/protocol/message";

describe("Overlap", () => {
  const [OLD, NEW] = ["old", "new"];
  let heard: string[];
  let overlap: Overlap;

  beforeEach(() => {
    heard = [];
    const onMessage = (message: Message): void => void heard.push(message.text(MessagePart.Payload));
    overlap = new Overlap({ onMessage }, NEW, () => 0);
  });

  function take(connection: string, ...texts: string[]): void {
    for (const text of texts) {
      const [channel, payload] = [Buffer.from("news"), Buffer.from(text)];
      overlap.take(connection, new DecodedMessage("message", [Buffer.alloc(0), channel, payload]));
    }
  }

  it("delivers a message once, whichever connection is the faster one", () => {
    overlap.begin();
    take(OLD, "a");
    take(NEW, "a", "b", "c");
    take(OLD, "b", "d");
    overlap.change();
    take(NEW, "d", "d");
    expect(heard).to.deep.equal(["a", "b", "d", "c", "d"]);
  });

  it("delivers a message again that the new connection missed before it was subscribed", () => {
    take(OLD, "a");
    overlap.begin();
    overlap.change();
    take(NEW, "a");
    expect(heard).to.deep.equal(["a", "a"]);
  });

  it("does not repeat a message that both connections received before all subscriptions", () => {
    take(OLD, "a");
    take(NEW, "a");
    overlap.begin();
    overlap.change();
    expect(heard).to.deep.equal(["a"]);
  });

  it("matches equal messages after the subscription first", () => {
    take(OLD, "a");
    overlap.begin();
    take(NEW, "a");
    take(OLD, "a");
    overlap.change();
    take(NEW, "a");
    expect(heard).to.deep.equal(["a", "a", "a"]);
  });
});
