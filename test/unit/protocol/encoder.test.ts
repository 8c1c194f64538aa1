import { expect } from "chai";
import fc from "fast-check";
import { encodeCommand } from "../../../src/protocol/encoder";
import {
  type FlushBytes,
  OutputBuffer,
  REFERENCE_FROM_BYTES,
  releaseFlush,
} from "../../../src/protocol/output-buffer";
import type { Argument } from "../../../src/protocol/resp-types";

const GET = Buffer.from("$3\r\nget\r\n");

/** The plain way to write a command. */
function expectedBytes(args: readonly Argument[]): Buffer {
  const parts = [Buffer.from(`*${args.length + 1}\r\n`), GET];
  for (const arg of args) {
    const bytes = Buffer.from(arg as string);
    parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from("\r\n"));
  }
  return Buffer.concat(parts);
}

function encode(...commands: (readonly Argument[])[]): readonly Buffer[] {
  const out = new OutputBuffer();
  for (const args of commands) encodeCommand(out, GET, args);
  const { length } = out;
  const { segments } = out.take();
  expect(length).to.equal(segments.reduce((sum, segment) => sum + segment.length, 0));
  expect(out.length).to.equal(0);
  return segments;
}

function check(...args: Argument[]): void {
  expect(Buffer.concat(encode(args)).equals(expectedBytes(args))).to.equal(true);
}

describe("encoder", () => {
  it("writes commands without and with many arguments", () => {
    check();
    check("");
    check("a", "b");
    check(...Array.from({ length: 8 }, (_, i) => `x${i}`));
    check(...Array.from({ length: 9 }, (_, i) => `x${i}`));
    check(...Array.from({ length: 100_000 }, (_, i) => `x${i}`));
  });

  it("writes strings of every length around the steps", () => {
    const lengths = [
      0, 1, 9, 10, 11, 39, 40, 41, 99, 100, 333, 334, 999, 1000, 3334, 9999, 10_000, 21_840, 65_536,
    ];
    for (const length of lengths) {
      for (const unit of ["a", "é", "€", "\0"]) check(unit.repeat(length));
      check(`${"a".repeat(length)}é`);
    }
    for (const length of [400_000, 1_048_576, 1_398_101, 1_400_000, 5_000_000]) {
      for (const unit of ["a", "€"]) check(unit.repeat(length), "behind");
    }
  });

  it("writes what is outside ASCII and replaces lone surrogates", () => {
    check("grüße", "€", "😀", "\u{10ffff}", "\x7f", "\x80", "\r\n$1\r\n");
    for (const padding of [0, 50]) {
      const text = `${"x".repeat(padding)}\ud800a\udc00`;
      const written = Buffer.concat(encode([text])).toString("latin1");
      expect(written).to.include("\xef\xbf\xbda\xef\xbf\xbd");
      check(text);
    }
  });

  it("copies small Buffers and sends large ones by reference", () => {
    for (const size of [0, 1, 32, 33, 100, REFERENCE_FROM_BYTES - 1]) {
      const buffer = Buffer.alloc(size, 0x62);
      const [segment, ...others] = encode([buffer]);
      expect(others).to.deep.equal([]);
      buffer.fill(0x63);
      expect(segment!.equals(expectedBytes([Buffer.alloc(size, 0x62)]))).to.equal(true);
    }
    const large = Buffer.alloc(REFERENCE_FROM_BYTES, 0x62);
    const segments = encode(["before", large, "behind"]);
    expect(segments.length).to.equal(3);
    expect(segments[1]).to.equal(large);
    expect(Buffer.concat(segments).equals(expectedBytes(["before", large, "behind"]))).to.equal(true);
  });

  it("writes long command words", () => {
    const out = new OutputBuffer();
    const word = "w".repeat(200_000);
    encodeCommand(out, Buffer.from(`$${word.length}\r\n${word}\r\n`), ["x"]);
    const text = Buffer.concat(out.take().segments).toString();
    expect(text).to.equal(`*2\r\n$200000\r\n${word}\r\n$1\r\nx\r\n`);
  });

  it("writes whatever strings and Buffers it is given", () => {
    const argument = fc.oneof(
      fc.string(),
      fc.string({ unit: "binary", maxLength: 60 }),
      fc.string({ unit: "grapheme", maxLength: 200 }),
      fc.string({ unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)), maxLength: 80 }),
      fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
      fc.nat(20_000).map((size) => Buffer.alloc(size, 1)),
      fc.nat(70_000).map((size) => "é".repeat(size)),
    );
    fc.assert(
      fc.property(fc.array(fc.array(argument, { maxLength: 6 }), { maxLength: 20 }), (commands) => {
        const expected = Buffer.concat(commands.map(expectedBytes));
        return Buffer.concat(encode(...commands)).equals(expected);
      }),
    );
  });
});

describe("output buffer", () => {
  it("gives a flush of up to 64 KiB as one segment", () => {
    const out = new OutputBuffer();
    for (let flush = 0; flush < 20; flush++) {
      while (out.length < 60_000) encodeCommand(out, GET, ["key:123456", "0123456789abcdef"]);
      const bytes = out.take();
      expect(bytes.segments.length).to.equal(1);
      releaseFlush(bytes);
    }
  });

  it("gives nothing when nothing was written", () => {
    const out = new OutputBuffer();
    expect(out.take().segments).to.deep.equal([]);
    expect(out.length).to.equal(0);
  });

  it("leaves segments alone until they are released, in whatever order", () => {
    const sizes = fc.array(fc.nat(30_000), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(sizes, fc.array(fc.nat(5)), (lengths, order) => {
        const out = new OutputBuffer();
        const waiting: { bytes: FlushBytes; expected: Buffer }[] = [];
        lengths.forEach((length, i) => {
          const args = [String.fromCharCode(97 + (i % 26)).repeat(length), Buffer.alloc(length % 9000, i)];
          encodeCommand(out, GET, args);
          waiting.push({ bytes: out.take(), expected: expectedBytes(args) });
          const next = order[i];
          if (next === undefined || next >= waiting.length) return;
          const [written] = waiting.splice(next, 1);
          expect(Buffer.concat(written!.bytes.segments).equals(written!.expected)).to.equal(true);
          releaseFlush(written!.bytes);
        });
        for (const { bytes, expected } of waiting) {
          expect(Buffer.concat(bytes.segments).equals(expected)).to.equal(true);
          releaseFlush(bytes);
        }
      }),
    );
  });

  it("holds no memory while it is idle", () => {
    const buffers = Array.from({ length: 1000 }, () => new OutputBuffer());
    const before = process.memoryUsage().arrayBuffers;
    for (const out of buffers) {
      encodeCommand(out, GET, ["key"]);
      releaseFlush(out.take());
    }
    expect(process.memoryUsage().arrayBuffers - before).to.be.below(4 * 64 * 1024);
  });
});
