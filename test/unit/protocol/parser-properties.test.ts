/** Random replies, encoded here, split at random places and read back; and bytes that mean nothing. */

import { expect } from "chai";
import fc from "fast-check";
import { ReplyError } from "../../../src/errors";
import { Parser } from "../../../src/protocol/parser";
import { Decode, type Reply } from "../../../src/protocol/resp-types";
import { fixedRuns } from "../../support/properties";
import { type Event, FEEDS, memoryGrowth, parse, RecordingSink } from "./recording-sink";

const PATIENCE_MS = process.env.SLUICE_LONG === "1" ? 1_800_000 : 30_000;
const { Buffers, Resp3Shapes, StringNumbers } = Decode;

/** A value with its wire form and with what each mode makes of it. */
interface Node {
  readonly wire: Buffer;
  expect(flags: number): Reply;
}

function wire(...parts: readonly (string | Buffer)[]): Buffer {
  return Buffer.concat(parts.map((part) => Buffer.from(part as string)));
}

function text(bytes: Buffer, encoded: Buffer): Node {
  return { wire: encoded, expect: (flags) => ((flags & Buffers) !== 0 ? bytes : bytes.toString()) };
}

function constant(encoded: string, value: Reply): Node {
  return { wire: Buffer.from(encoded), expect: () => value };
}

const body = fc.oneof(
  { weight: 4, arbitrary: fc.string({ maxLength: 40 }).map((value) => Buffer.from(value)) },
  { weight: 2, arbitrary: fc.string({ unit: "grapheme", maxLength: 30 }).map((value) => Buffer.from(value)) },
  { weight: 2, arbitrary: fc.uint8Array({ maxLength: 60 }).map((value) => Buffer.from(value)) },
  { weight: 1, arbitrary: fc.nat(5000).map((size) => Buffer.alloc(size, "é")) },
);
const lineText = fc
  .string({ unit: "grapheme", maxLength: 30 })
  .map((value) => Buffer.from(value.replaceAll("\r", "")));

const resp2Leaf: fc.Arbitrary<Node> = fc.oneof(
  lineText.map((value) => text(value, wire("+", value, "\r\n"))),
  body.map((value) => text(value, wire(`$${value.length}\r\n`, value, "\r\n"))),
  fc.maxSafeInteger().map((value) => ({
    wire: wire(`:${value}\r\n`),
    expect: (flags: number) => ((flags & StringNumbers) !== 0 ? String(value) : value),
  })),
  lineText.map((value) => constant(`-${value}\r\n`, new ReplyError(value.toString()))),
  fc.constantFrom(constant("$-1\r\n", null), constant("*-1\r\n", null)),
);

const resp3Leaf: fc.Arbitrary<Node> = fc.oneof(
  resp2Leaf,
  fc.constant(constant("_\r\n", null)),
  fc.boolean().map((value) => ({
    wire: wire(value ? "#t\r\n" : "#f\r\n"),
    expect: (flags: number) => ((flags & Resp3Shapes) !== 0 ? value : Number(value)),
  })),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => {
    const sent = String(value);
    return {
      wire: wire(`,${sent}\r\n`),
      expect: (flags: number) => {
        if ((flags & StringNumbers) !== 0) return sent;
        if ((flags & Resp3Shapes) !== 0) return Number(sent);
        return (flags & Buffers) !== 0 ? Buffer.from(sent) : sent;
      },
    };
  }),
  fc.bigInt().map((value) => constant(`(${value}\r\n`, String(value))),
  body.map((value) => constant2(value)),
  body.map((value) => text(value, wire(`=${value.length + 4}\r\n`, "txt:", value, "\r\n"))),
);

function constant2(message: Buffer): Node {
  return {
    wire: wire(`!${message.length}\r\n`, message, "\r\n"),
    expect: () => new ReplyError(message.toString()),
  };
}

function list(type: string, elements: readonly Node[]): Node {
  const inner = elements.map((element) => element.wire);
  return {
    wire: wire(`${type}${elements.length}\r\n`, ...inner),
    expect: (flags) => elements.map((element) => element.expect(flags)),
  };
}

function map(keys: readonly string[], values: readonly Node[]): Node {
  const pairs = keys.map((key, i) => wire(`$${Buffer.byteLength(key)}\r\n${key}\r\n`, values[i]!.wire));
  return {
    wire: wire(`%${keys.length}\r\n`, ...pairs),
    expect: (flags) => {
      if ((flags & Resp3Shapes) !== 0) {
        return Object.fromEntries(keys.map((key, i) => [key, values[i]!.expect(flags)]));
      }
      return keys.flatMap((key, i) => [
        (flags & Buffers) !== 0 ? Buffer.from(key) : key,
        values[i]!.expect(flags),
      ]);
    },
  };
}

function withMetadata(node: Node, metadata: readonly Node[]): Node {
  const inner = metadata.flatMap((value) => [wire("+name\r\n"), value.wire]);
  return { wire: wire(`|${metadata.length}\r\n`, ...inner, node.wire), expect: node.expect };
}

const key = fc.oneof(fc.string({ maxLength: 10 }), fc.constantFrom("__proto__", "toString", "0", "é"));

const { reply3 } = fc.letrec<{ reply3: Node; many: Node[] }>((tie) => ({
  many: fc.array(tie("reply3"), { maxLength: 6 }),
  reply3: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    resp3Leaf,
    fc.tuple(fc.constantFrom("*", "~"), tie("many")).map(([type, elements]) => list(type, elements)),
    fc
      .tuple(tie("many"), fc.array(key, { minLength: 6, maxLength: 6 }))
      .map(([values, keys]) => map(keys.slice(0, values.length), values)),
    fc.tuple(tie("reply3"), tie("many")).map(([node, metadata]) => withMetadata(node, metadata)),
  ),
}));

const { reply2 } = fc.letrec<{ reply2: Node }>((tie) => ({
  reply2: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    resp2Leaf,
    fc.array(tie("reply2"), { maxLength: 8 }).map((elements) => list("*", elements)),
  ),
}));

function split(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...places.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return ends.map((end, i) => bytes.subarray(i === 0 ? 0 : ends[i - 1], end));
}

/** Errors compare by their message. */
function comparable(value: Reply): Reply {
  if (value instanceof Error) return { error: value.message };
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== "object" || value === null || Buffer.isBuffer(value)) return value;
  return Object.entries(value).map(([name, inner]) => [name, comparable(inner)]);
}

function expectedEvent(value: Reply): Event {
  return [value instanceof Error ? "error" : "reply", comparable(value)];
}

function checkReadBack(nodes: readonly Node[], places: readonly number[], flags: number): void {
  const pieces = split(wire(...nodes.map((node) => node.wire)), places);
  const expected = nodes.map((node) => expectedEvent(node.expect(flags)));
  for (const feed of FEEDS) {
    const events = parse(pieces, flags, feed).map(([kind, value]) => [kind, comparable(value)]);
    expect(events).to.deep.equal(expected);
  }
}

const places = fc.array(fc.nat(), { maxLength: 20 });

describe("parser: random replies", () => {
  it("reads back RESP2", () => {
    const flags = fc.constantFrom(0, Buffers, StringNumbers);
    fc.assert(fc.property(fc.array(reply2, { maxLength: 5 }), places, flags, checkReadBack), fixedRuns(400));
  }).timeout(PATIENCE_MS);

  it("reads back RESP3 with metadata, in every mode", () => {
    const flags = fc.nat(Buffers | StringNumbers | Resp3Shapes);
    fc.assert(fc.property(fc.array(reply3, { maxLength: 5 }), places, flags, checkReadBack), fixedRuns(600));
  }).timeout(PATIENCE_MS);
});

/** It ends in any case, throws nothing, and takes no absurd memory. */
function checkSurvival(pieces: readonly Buffer[], flags: number): void {
  for (const feed of FEEDS) {
    const sink = new RecordingSink(flags);
    const parser = new Parser(sink);
    for (const piece of pieces) feed(parser, piece);
    const failures = sink.events.filter(([kind]) => kind === "failure");
    expect(failures.length).to.be.below(2);
    if (failures.length === 1) expect(sink.events[sink.events.length - 1]![0]).to.equal("failure");
  }
}

describe("parser: garbage", () => {
  const flags = fc.nat(Buffers | StringNumbers | Resp3Shapes);
  const respBytes = fc
    .array(fc.constantFrom(..."+-:$*_#,(!=%~>|;.?0123456789\r\nab".split("")), { maxLength: 80 })
    .map((units) => Buffer.from(units.join("")));
  const tokens = fc
    .array(
      fc.oneof(
        fc
          .tuple(fc.constantFrom(..."$*%~>|;=!".split("")), fc.integer({ min: -2, max: 9 }))
          .map(([type, length]) => `${type}${length}\r\n`),
        fc.constantFrom(
          "$?\r\n",
          "*?\r\n",
          "%?\r\n",
          "|?\r\n",
          ".\r\n",
          ":1\r\n",
          "+a\r\n",
          "_\r\n",
          "#t\r\n",
          "abc\r\n",
          "\r\n",
          ";0\r\n",
        ),
      ),
      { maxLength: 40 },
    )
    .map((units) => Buffer.from(units.join("")));

  it("survives bytes at random", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 5 }), flags, (pieces, bits) =>
        checkSurvival(
          pieces.map((piece) => Buffer.from(piece)),
          bits,
        ),
      ),
      fixedRuns(1000),
    );
  }).timeout(PATIENCE_MS);

  it("survives what looks like RESP, and fails in the same way however it is split", () => {
    fc.assert(
      fc.property(fc.oneof(respBytes, tokens), places, flags, (bytes, cuts, bits) => {
        const pieces = split(bytes, cuts);
        checkSurvival(pieces, bits);
        const whole = parse([bytes], bits).map(([kind, value]) => [kind, comparable(value)]);
        for (const feed of FEEDS) {
          const events = parse(pieces, bits, feed).map(([kind, value]) => [kind, comparable(value)]);
          expect(events).to.deep.equal(whole);
        }
      }),
      fixedRuns(3000),
    );
  }).timeout(PATIENCE_MS);

  it("survives one wrong byte in good replies", () => {
    fc.assert(
      fc.property(
        fc.array(reply3, { minLength: 1, maxLength: 3 }),
        fc.nat(),
        fc.nat(255),
        places,
        (nodes, at, byte, cuts) => {
          const bytes = wire(...nodes.map((node) => node.wire));
          bytes[at % bytes.length] = byte;
          checkSurvival(split(bytes, cuts), 0);
        },
      ),
      fixedRuns(1000),
    );
  }).timeout(PATIENCE_MS);
});

/** Texts that stand as a length somewhere in a reply. */
const LENGTH = /([$*%~>|=!;])\d+\r\n/g;
const FIXED_BYTES = 4 * 1024 * 1024;
/** An element of a reply is at least three bytes and at most a small object. */
const BYTES_PER_BYTE = 256;

/** Writes other lengths into some places where there is one. */
function announce(bytes: Buffer, lengths: readonly (number | null)[]): Buffer {
  let turn = 0;
  const text = bytes.toString("latin1").replace(LENGTH, (found, type: string) => {
    const length = lengths[turn++ % lengths.length];
    return length === null || length === undefined ? found : `${type}${length}\r\n`;
  });
  return Buffer.from(text, "latin1");
}

describe("parser: announced lengths", () => {
  const flags = fc.nat(Buffers | StringNumbers | Resp3Shapes);
  const length = fc.oneof(
    { weight: 2, arbitrary: fc.constant(null) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(65_536, 2 ** 20, 2 ** 29, 2 ** 29 + 1, 2 ** 30 - 1, 2 ** 31 - 1, 2 ** 31),
    },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 2 ** 31 }) },
  );

  it("memory follows what has arrived, not what was announced", () => {
    fc.assert(
      fc.property(
        fc.array(reply3, { minLength: 1, maxLength: 4 }),
        fc.array(length, { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 100 }),
        places,
        flags,
        (nodes, lengths, percent, cuts, bits) => {
          const whole = announce(wire(...nodes.map((node) => node.wire)), lengths);
          const bytes = whole.subarray(0, Math.ceil((whole.length * percent) / 100));
          const pieces = split(bytes, cuts);
          for (const feed of FEEDS) {
            const growth = memoryGrowth(() => {
              const sink = new RecordingSink(bits);
              const parser = new Parser(sink);
              for (const piece of pieces) feed(parser, piece);
              return [sink, parser];
            });
            expect(growth).to.be.below(FIXED_BYTES + BYTES_PER_BYTE * bytes.length);
          }
        },
      ),
      fixedRuns(500),
    );
  }).timeout(PATIENCE_MS);
});
