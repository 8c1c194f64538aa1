import { expect } from "chai";
import { Parser } from "../../../src/protocol/parser";
import { Decode } from "../../../src/protocol/resp-types";
import { FEEDS, RecordingSink, viaPush } from "./recording-sink";

const bulk = (text: string | Buffer): string => {
  const bytes = Buffer.from(text as string);
  return `$${bytes.length}\r\n${bytes.toString("latin1")}\r\n`;
};

const aggregate = (type: string, ...words: string[]): string =>
  `${type}${words.length}\r\n${words.map((word) => bulk(word)).join("")}`;

/** Whether each came in one step (`message`) or by its tokens. */
class WaySink extends RecordingSink {
  readonly ways: string[] = [];

  override onMessage(message: Parameters<RecordingSink["onMessage"]>[0]): void {
    this.ways.push("message");
    super.onMessage(message);
  }

  override onReply(value: unknown): void {
    this.ways.push("reply");
    super.onReply(value);
  }

  override onPush(value: unknown[]): void {
    this.ways.push("push");
    super.onPush(value);
  }
}

function read(wire: string, decoding: number): { ways: string[]; values: unknown[] } {
  const sink = new WaySink(decoding);
  viaPush(new Parser(sink), Buffer.from(wire, "latin1"));
  return { ways: sink.ways, values: sink.events.map(([, value]) => toTexts(value)) };
}

function toTexts(value: unknown): unknown {
  if (Buffer.isBuffer(value)) return value.toString();
  return Array.isArray(value) ? value.map(toTexts) : value;
}

const SUBSCRIBED = Decode.Buffers | Decode.Messages;

describe("messages of pub/sub on the wire", () => {
  const kinds = [
    ["message", "news", "é and more"],
    ["smessage", "news", ""],
    ["pmessage", "n*", "news", "x".repeat(2000)],
  ];

  for (const words of kinds) {
    it(`are read in one step: ${words[0]}`, () => {
      for (const type of ["*", ">"]) {
        const { ways, values } = read(aggregate(type, ...words).repeat(2), SUBSCRIBED);
        expect(ways).to.deep.equal(["message", "message"]);
        expect(values).to.deep.equal([words, words]);
      }
    });
  }

  it("are the same however the bytes are split", () => {
    const wire = Buffer.from(kinds.map((words) => aggregate("*", ...words)).join(""), "latin1").subarray(
      0,
      160,
    );
    const whole = Buffer.from(aggregate("*", "message", "a", "b"));
    for (const feed of FEEDS) {
      for (let cut = 1; cut < wire.length; cut++) {
        const sink = new RecordingSink(SUBSCRIBED);
        const parser = new Parser(sink);
        for (const piece of [whole, wire.subarray(0, cut), wire.subarray(cut)]) feed(parser, piece);
        expect(sink.events.map(([, value]) => toTexts(value))).to.deep.equal([
          ["message", "a", "b"],
          kinds[0],
          kinds[1],
        ]);
      }
    }
  });

  it("are arrays to a connection that is not subscribed", () => {
    const wire = aggregate("*", "message", "news", "text");
    expect(read(wire, 0)).to.deep.equal({ ways: ["reply"], values: [["message", "news", "text"]] });
  });

  it("take the ordinary way in any other form", () => {
    const invalidate = `*3\r\n${bulk("message")}${bulk("__redis__:invalidate")}*1\r\n${bulk("key")}`;
    const withNull = `*3\r\n${bulk("message")}${bulk("news")}$-1\r\n`;
    const long = aggregate("*", "message", "news", "x".repeat(70_000));
    const confirmation = `*3\r\n${bulk("subscribe")}${bulk("news")}:1\r\n`;
    const short = aggregate("*", "message", "news");
    for (const wire of [invalidate, withNull, long, confirmation, short]) {
      expect(read(wire, SUBSCRIBED).ways, wire.slice(0, 60)).to.deep.equal(["reply"]);
    }
  });

  it("with broken bytes end the parser as any other bytes do", () => {
    const sink = new RecordingSink(SUBSCRIBED);
    const broken = aggregate("*", "message", "news", "text").replace("text\r\n", "text!!");
    viaPush(new Parser(sink), Buffer.from(broken));
    expect(sink.events.map(([kind]) => kind)).to.deep.equal(["failure"]);
  });

  it("stop when the one who hears of the first one stops the parser", () => {
    const sink = new RecordingSink(SUBSCRIBED);
    const parser = new Parser(sink);
    sink.after = () => parser.stop();
    viaPush(parser, Buffer.from(aggregate("*", "message", "news", "text").repeat(3)));
    expect(sink.events).to.have.length(1);
  });
});
