/** Values put together to replies, without bytes: nesting, metadata, what is refused and what is dropped. */

import { expect } from "chai";
import { MAX_DEPTH, MAX_PREALLOCATED_SLOTS } from "../../../src/protocol/limits";
import { ReplyBuilder } from "../../../src/protocol/reply-builder";
import { FrameKind } from "../../../src/protocol/reply-frame";
import { Decode } from "../../../src/protocol/resp-types";
import { TypeByte } from "../../../src/protocol/type-byte";
import { RecordingSink } from "./recording-sink";

const { List, Dictionary, Attribute } = FrameKind;

describe("ReplyBuilder", () => {
  let sink: RecordingSink;
  let builder: ReplyBuilder;

  function begin(decoding = 0): void {
    sink = new RecordingSink(decoding);
    builder = new ReplyBuilder(sink);
    builder.begin(TypeByte.Bulk);
  }

  beforeEach(() => begin());

  it("hands a reply over once, when its last element has come", () => {
    expect(builder.isIdle).to.equal(false);
    builder.open(List, 2);
    builder.place("a");
    builder.open(List, 1);
    expect(sink.events).to.deep.equal([]);
    builder.place("b");
    expect(sink.events).to.deep.equal([["reply", ["a", ["b"]]]]);
    expect(builder.isIdle).to.equal(true);
    expect(builder.frame).to.equal(null);
  });

  it("closes aggregates without elements at once, however deep", () => {
    builder.open(List, 2);
    builder.open(Dictionary, 0);
    builder.open(List, 0);
    expect(sink.events).to.deep.equal([["reply", [{}, []]]]);
  });

  it("asks for the decoding once for each reply, and not for pushes", () => {
    builder.place("a");
    builder.begin(TypeByte.Push);
    expect(builder.decoding).to.equal(Decode.Buffers | Decode.Messages);
    builder.open(List, 1);
    builder.place(Buffer.from("x"));
    builder.begin(TypeByte.Bulk);
    builder.open(List, 2);
    builder.place("b");
    builder.place("c");
    expect(sink.asked).to.equal(2);
    expect(sink.events.map(([kind]) => kind)).to.deep.equal(["reply", "push", "reply"]);
  });

  it("tells an error reply from an error that is an element", () => {
    const error = new Error("no");
    builder.place(error);
    builder.begin(TypeByte.Bulk);
    builder.open(List, 1);
    builder.place(error);
    expect(sink.events).to.deep.equal([
      ["error", error],
      ["reply", [error]],
    ]);
  });

  it("reads the keys of a dictionary as text with numbers as they were sent, and its values as wanted", () => {
    begin(Decode.Buffers | Decode.Resp3Shapes);
    const seen: number[] = [];
    builder.open(Dictionary, 4);
    for (const value of ["1", Buffer.from("a"), "2", Buffer.from("b")]) {
      seen.push(builder.decoding);
      builder.place(value);
    }
    const asKey = Decode.Resp3Shapes | Decode.StringNumbers;
    const asValue = Decode.Buffers | Decode.Resp3Shapes;
    expect(seen).to.deep.equal([asKey, asValue, asKey, asValue]);
    expect(sink.events).to.deep.equal([["reply", { 1: Buffer.from("a"), 2: Buffer.from("b") }]]);
  });

  it("returns to the decoding around a dictionary", () => {
    begin(Decode.Buffers);
    builder.open(List, 2);
    builder.open(Dictionary, 2);
    builder.place("k");
    builder.place("v");
    expect((builder.decoding & Decode.Buffers) !== 0).to.equal(true);
    builder.place("after");
    expect(sink.events).to.deep.equal([["reply", [{ k: "v" }, "after"]]]);
  });

  it("drops metadata, also metadata of metadata and inside a reply", () => {
    builder.open(List, 2);
    builder.place("a");
    builder.open(Attribute, 2);
    builder.place("ttl");
    builder.open(Attribute, 2);
    builder.place("inner");
    builder.place("1");
    expect(builder.isDropping).to.equal(true);
    builder.place("5");
    expect(builder.isDropping).to.equal(false);
    builder.place("b");
    expect(sink.events).to.deep.equal([["reply", ["a", "b"]]]);
  });

  it("begins a reply only behind the metadata in front of it", () => {
    sink = new RecordingSink(0);
    builder = new ReplyBuilder(sink);
    builder.begin(TypeByte.Attribute);
    expect(builder.isIdle).to.equal(false);
    builder.open(Attribute, 2);
    builder.place("a");
    builder.place("b");
    expect(builder.isIdle).to.equal(true);
    expect(sink.asked).to.equal(0);
    expect(sink.events).to.deep.equal([]);
  });

  it("goes on dropping behind metadata inside a reply that has failed", () => {
    const error = new Error("too long");
    builder.open(List, 3);
    builder.open(Attribute, 2);
    builder.failReply(error);
    builder.place("a");
    builder.place("b");
    builder.place("x");
    builder.place("y");
    expect(sink.events).to.deep.equal([]);
    builder.place("z");
    expect(sink.events).to.deep.equal([["error", error]]);
    builder.begin(TypeByte.Bulk);
    builder.place("next");
    expect(sink.events.at(-1)).to.deep.equal(["reply", "next"]);
  });

  it("fails one reply with the first of its failures", () => {
    const first = new Error("first");
    builder.open(List, 1);
    builder.failReply(first);
    builder.failReply(new Error("second"));
    builder.place(null);
    expect(sink.events).to.deep.equal([["error", first]]);
  });

  it("refuses to nest without a bound", () => {
    for (let depth = 0; depth < MAX_DEPTH; depth++) expect(builder.open(List, 1)).to.equal(true);
    expect(builder.open(List, 1)).to.equal(false);
  });

  it("allocates ahead no more places for one reply than the bound, and as many again for the next", () => {
    builder.open(List, 2 ** 30);
    expect(builder.frame?.content).to.have.length(MAX_PREALLOCATED_SLOTS);
    builder.open(List, 2 ** 30);
    expect(builder.frame?.content).to.have.length(0);
    begin();
    for (let round = 0; round < 2; round++) {
      builder.open(List, 2);
      expect(builder.frame?.content).to.have.length(2);
      builder.place("a");
      builder.place("b");
      builder.begin(TypeByte.Bulk);
    }
  });

  it("fails a reply whose key cannot be written as text, and reads the rest of it", () => {
    const circle: unknown[] = [];
    circle.push(circle);
    builder.open(Dictionary, 4);
    for (const value of [circle, "v", "k", "w"]) expect(builder.place(value)).to.equal(true);
    expect(sink.events.map(([kind]) => kind)).to.deep.equal(["error"]);
  });
});
