/** Large values that are wanted as Buffers are read into the memory that the caller gets. */

import { expect } from "chai";
import { Parser } from "../../../src/protocol/parser";
import { Decode } from "../../../src/protocol/resp-types";
import { FEEDS, memoryGrowth, parse, RecordingSink, viaReserve } from "./recording-sink";

const SIZE = 300_001;
const HUGE = 9 * 1024 * 1024;

function pattern(size: number, seed = 0): Buffer {
  const bytes = Buffer.allocUnsafe(size);
  for (let i = 0; i < size; i++) bytes[i] = (i * 7 + (i >> 8) + seed) & 0xff;
  return bytes;
}

function bulk(value: Buffer, type = "$"): Buffer {
  return Buffer.concat([Buffer.from(`${type}${value.length}\r\n`), value, Buffer.from("\r\n")]);
}

function cutAt(bytes: Buffer, ...places: readonly number[]): Buffer[] {
  const edges = [0, ...places.filter((place) => place > 0 && place < bytes.length), bytes.length];
  return edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
}

describe("large Buffers", () => {
  const value = pattern(SIZE);
  const head = `$${SIZE}\r\n`.length;

  it("are whole wherever they are cut", () => {
    const wire = Buffer.concat([Buffer.from("+a\r\n"), bulk(value), Buffer.from("+b\r\n")]);
    const end = 4 + head + SIZE;
    const late = [end - 1, end, end + 1, end + 2, end + 3];
    for (const feed of FEEDS) {
      for (const early of [1, 4, 5, 4 + head - 1, 4 + head, 4 + head + 1, 14_000, 65_536, 262_144]) {
        for (const place of late) {
          const events = parse(cutAt(wire, early, place), Decode.Buffers, feed);
          expect(events.map(([kind]) => kind)).to.deep.equal(["reply", "reply", "reply"]);
          expect(value.equals(events[1]![1] as Buffer)).to.equal(true);
          expect(String(events[2]![1])).to.equal("b");
        }
      }
    }
  });

  it("have their size and nothing else in their memory", () => {
    for (const feed of FEEDS) {
      const [event] = parse(cutAt(bulk(value), 70_000, 200_000), Decode.Buffers, feed);
      const { buffer, byteOffset, byteLength } = event![1] as Buffer;
      expect([buffer.byteLength, byteOffset, byteLength]).to.deep.equal([SIZE, 0, SIZE]);
    }
  });

  it("are read by the socket itself, and no further than to their end", () => {
    const sink = new RecordingSink(Decode.Buffers);
    const parser = new Parser(sink);
    const wire = bulk(value);
    viaReserve(parser, wire.subarray(0, 100_000));
    const room = parser.reserve();
    expect([room.byteOffset, room.length]).to.deep.equal([100_000 - head, 65_536]);
    viaReserve(parser, wire.subarray(100_000, -100));
    const last = parser.reserve();
    expect(last.byteOffset + last.length).to.equal(last.buffer.byteLength);
    viaReserve(parser, wire.subarray(-100));
    expect((sink.events[0]![1] as Buffer).buffer).to.equal(room.buffer);
    expect(parser.reserve().buffer).not.to.equal(room.buffer);
  });

  it("may stand in lists, one behind the other, among pushes and small values", () => {
    const values = [pattern(70_000, 1), pattern(5), pattern(SIZE, 2), pattern(65_537, 3)];
    const push = Buffer.from(">2\r\n+x\r\n:1\r\n");
    const list = Buffer.concat([Buffer.from("*4\r\n"), ...values.map((one) => bulk(one))]);
    const wire = Buffer.concat([list, push, bulk(values[2]!), list]);
    for (const feed of FEEDS) {
      for (const step of [30_011, 65_536, 262_144]) {
        const places = Array.from({ length: Math.ceil(wire.length / step) }, (_, i) => i * step);
        const events = parse(cutAt(wire, ...places), Decode.Buffers, feed);
        expect(events.map(([kind]) => kind)).to.deep.equal(["reply", "push", "reply", "reply"]);
        expect(values[2]!.equals(events[2]![1] as Buffer)).to.equal(true);
        for (const at of [0, 3]) {
          const found = events[at]![1] as Buffer[];
          expect(found.map((one, i) => one.equals(values[i]!))).to.deep.equal([true, true, true, true]);
        }
      }
    }
  });

  it("with a tag in front, and texts, go the usual way", () => {
    const text = Buffer.alloc(SIZE, "é");
    const tagged = Buffer.concat([Buffer.from("txt:"), text]);
    for (const feed of FEEDS) {
      const [first] = parse(cutAt(bulk(tagged, "="), 100_000), Decode.Buffers, feed);
      expect(text.equals(first![1] as Buffer)).to.equal(true);
      const [second] = parse(cutAt(bulk(text), 100_000), 0, feed);
      expect(second![1]).to.equal(text.toString());
    }
  });

  it("need a line end, which is missed at the right place", () => {
    for (const feed of FEEDS) {
      const wire = Buffer.concat([bulk(value).subarray(0, -2), Buffer.from("xy")]);
      const [event] = parse(cutAt(wire, 100_000, 250_000), Decode.Buffers, feed);
      expect(event![0]).to.equal("failure");
      expect((event![1] as Error).message).to.include(`at byte ${head + SIZE} of`);
    }
  });

  it("that are stopped in the middle are forgotten", () => {
    const sink = new RecordingSink(Decode.Buffers);
    const parser = new Parser(sink);
    const wire = bulk(value);
    viaReserve(parser, wire.subarray(0, 100_000));
    const { buffer } = parser.reserve();
    parser.stop();
    expect(parser.reserve().buffer).not.to.equal(buffer);
    viaReserve(parser, wire.subarray(100_000));
    expect(sink.events).to.deep.equal([]);
  });

  it("get memory in proportion to what has arrived", () => {
    for (const [size, arrived, most] of [
      [4 * 1024 * 1024, 1000, 300_000],
      [4 * 1024 * 1024, 140_000, 5_000_000],
      [HUGE, 200_000, 5_000_000],
    ] as const) {
      const wire = Buffer.concat([Buffer.from(`$${size}\r\n`), pattern(arrived)]);
      for (const feed of FEEDS) {
        const growth = memoryGrowth(() => {
          const parser = new Parser(new RecordingSink(Decode.Buffers));
          feed(parser, wire);
          return parser;
        });
        expect(growth).to.be.below(most);
      }
    }
  });

  it("that come slowly at first are read into their own memory once enough is there", () => {
    const sink = new RecordingSink(Decode.Buffers);
    const parser = new Parser(sink);
    const wire = bulk(pattern(HUGE));
    viaReserve(parser, wire.subarray(0, HUGE / 32 - 1000));
    expect(parser.reserve().buffer.byteLength).not.to.equal(HUGE);
    viaReserve(parser, wire.subarray(HUGE / 32 - 1000, HUGE / 32 + 1000));
    const { buffer } = parser.reserve();
    expect(buffer.byteLength).to.equal(HUGE);
    viaReserve(parser, wire.subarray(HUGE / 32 + 1000));
    const found = sink.events[0]![1] as Buffer;
    expect(found.buffer).to.equal(buffer);
    expect(found.equals(pattern(HUGE))).to.equal(true);
  });
});
