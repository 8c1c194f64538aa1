import { expect } from "chai";
import { ParserError } from "../../../src/errors";
import { MAX_BULK_BYTES, MAX_DEPTH, MAX_LINE_BYTES, MAX_TEXT_BYTES } from "../../../src/protocol/limits";
import { Parser } from "../../../src/protocol/parser";
import { Decode } from "../../../src/protocol/resp-types";
import { FEEDS, failureOf, memoryGrowth, parse, RecordingSink, viaPush, viaReserve } from "./recording-sink";

const BAD_WIRES: readonly (readonly [wire: string, message: RegExp])[] = [
  ["hello\r\n", /^Unknown RESP type 104 "h"\. Please report this\./],
  ["\r\n", /^Unknown RESP type 13 "\r"\. Please report this\./],
  [";3\r\nabc\r\n", /^Unknown RESP type 59 ";"\. Please report this\./],
  [".\r\n", /Unknown RESP type 46/],
  ["*1\r\n.\r\n", /Unknown RESP type 46/],
  ["$-2\r\n", /bad length of "\$"/],
  ["$-1x\r\n", /bad length/],
  ["$-\r\n", /bad length/],
  ["$\r\n", /bad length/],
  ["$+1\r\na\r\n", /bad length/],
  ["$1a\r\na\r\n", /bad length of "\$" \(found 0x61\), at byte 2 of the connection/],
  ["$1\ra", /bad length/],
  ["$1\n", /bad length/],
  ["$ 1\r\n", /bad length/],
  ["$?1\r\n", /bad length/],
  ["$99999999999\r\n", /bad length|limit/],
  ["$4294967296\r\n", /length of 4294967296, above the limit of 4294967295/],
  ["$3\r\nabcd\r\n", /no CRLF behind the value, at byte 7/],
  ["$3\r\nabc\rx", /no CRLF/],
  ["$3\r\nabcxx", /no CRLF/],
  ["*-2\r\n", /bad length/],
  ["*2147483648\r\n", /length of 2147483648, above the limit of 2147483647/],
  ["*x\r\n", /bad length of "\*"/],
  ["%-1\r\n", /bad length/],
  ["%1073741824\r\n", /limit/],
  ["~-1\r\n", /bad length/],
  [">-1\r\n", /bad length/],
  [">?\r\n", /bad length/],
  ["*1\r\n>1\r\n+a\r\n", /push inside a reply, at byte 4/],
  [":\r\n", /integer that is not a number/],
  [":-\r\n", /integer that is not a number/],
  [":1x\r\n", /integer that is not a number/],
  [":1.5\r\n", /integer that is not a number/],
  [":--1\r\n", /integer that is not a number/],
  [":123456789012345678901\r\n", /more than 64 bits/],
  [":1\r:", /CR without LF, at byte 2/],
  ["+a\rb\r\n", /CR without LF/],
  ["-ERR\rx\r\n", /CR without LF/],
  ["+a\nb\r\n", /LF without CR, at byte 2/],
  ["-ERR a\nb\r\n", /LF without CR, at byte 6/],
  ["+OK\n", /LF without CR, at byte 3/],
  [":1\n", /LF without CR, at byte 2/],
  [":+1\n\r\n", /LF without CR/],
  [",1.5\n\r\n", /LF without CR/],
  ["(12\n3\r\n", /LF without CR/],
  ["_\n", /LF without CR/],
  ["#t\n", /LF without CR/],
  ["$3\nabc\r\n", /bad length/],
  ["*1\n:1\r\n", /bad length/],
  ["#x\r\n", /boolean that is neither/],
  ["#\r\n", /boolean/],
  ["#tt\r\n", /boolean/],
  ["_x\r\n", /null with a value/],
  [",\r\n", /double that is not a number/],
  [",.\r\n", /double that is not a number/],
  [",.5\r\n", /double that is not a number/],
  [",1e\r\n", /double that is not a number/],
  [",0x10\r\n", /double that is not a number/],
  [",1 \r\n", /double that is not a number/],
  [",infinity\r\n", /double that is not a number/],
  ["(\r\n", /big number that is not a number/],
  ["(1.5\r\n", /big number that is not a number/],
  ["=3\r\ntxt\r\n", /verbatim string without its format/],
  ["=5\r\ntxt-a\r\n", /verbatim string without its format/],
  ["=-1\r\n", /bad length of "="/],
  ["!-1\r\n", /bad length of "!"/],
  ["$?\r\n;1\r\na\r\n;0\r\n", /bad length of "\$"/],
  ["*?\r\n.\r\n", /bad length of "\*"/],
  ["|1\r\n+a\r\n:x\r\n:1\r\n", /integer that is not a number/],
];

describe("parser: what is not RESP", () => {
  for (const [wire, message] of BAD_WIRES) {
    it(JSON.stringify(wire), () => {
      const bytes = Buffer.from(wire);
      for (const feed of FEEDS) {
        expect(failureOf(bytes, feed)).to.match(message);
        for (let at = 1; at < bytes.length; at++) {
          const events = parse([bytes.subarray(0, at), bytes.subarray(at)], 0, feed);
          expect(events.length).to.equal(1);
          expect(events[0]![0]).to.equal("failure");
          expect((events[0]![1] as Error).message).to.match(message);
        }
      }
    });
  }

  it("counts the offset over all that the connection received", () => {
    const good = Buffer.from("$5\r\nhello\r\n".repeat(40_000));
    for (const feed of FEEDS) {
      const events = parse([good.subarray(0, 100_001), good.subarray(100_001), "$x"], 0, feed);
      expect(events.length).to.equal(40_001);
      const error = events[40_000]![1] as ParserError;
      expect(error).to.be.instanceOf(ParserError);
      expect(error.code).to.equal("PROTOCOL");
      expect(error.message).to.include(`at byte ${good.length + 1} of the connection`);
    }
  });

  it("is dead after the first failure", () => {
    for (const feed of FEEDS) {
      const sink = new RecordingSink();
      const parser = new Parser(sink);
      feed(parser, Buffer.from(":1\r\n!!\r\n:2\r\n"));
      feed(parser, Buffer.from(":3\r\n"));
      expect(sink.events.map(([kind]) => kind)).to.deep.equal(["reply", "failure"]);
    }
  });
});

describe("parser: limits", () => {
  it("accepts a line of the greatest length and refuses a longer one", () => {
    for (const feed of FEEDS) {
      const digits = "1".repeat(MAX_LINE_BYTES - 1);
      expect(parse([`(${digits}\r\n`], 0, feed)).to.deep.equal([["reply", digits]]);
      expect(failureOf(Buffer.from(`(${digits}1\r\n`), feed)).to.match(
        /^Protocol error: line of \d+, above the limit of 65536/,
      );
      expect(failureOf(Buffer.from(`,${digits}1`), feed)).to.match(/line of/);
    }
  });

  it("takes errors and statuses of up to 16 MiB, and fails the command of a longer one", () => {
    for (const feed of FEEDS) {
      const text = "x".repeat(MAX_LINE_BYTES * 5);
      expect(parse([`+${text}\r\n:1\r\n`], 0, feed)).to.deep.equal([
        ["reply", text],
        ["reply", 1],
      ]);
      const [[kind, error]] = parse([`-ERR ${text}\r\n`], 0, feed) as [[string, Error]];
      expect([kind, error.message]).to.deep.equal(["error", `ERR ${text}`]);
    }
    const long = "x".repeat(17 * 1024 * 1024);
    for (const feed of FEEDS) {
      const [failed, next] = parse([`+${long}\r\n:1\r\n`], 0, feed) as [[string, Error], unknown];
      expect([failed[0], failed[1].name, next]).to.deep.equal(["error", "ReplyTooLongError", ["reply", 1]]);
    }
  });

  it("gives up on a number of 32 MiB after 64 KiB", () => {
    for (const feed of FEEDS) {
      const sink = new RecordingSink();
      const parser = new Parser(sink);
      const piece = Buffer.alloc(65_536, 0x31);
      feed(parser, Buffer.from("("));
      let pieces = 0;
      while (sink.events.length === 0 && pieces < 512) {
        feed(parser, piece);
        pieces++;
      }
      expect(sink.events[0]![0]).to.equal("failure");
      expect(pieces).to.equal(1);
    }
    expect(failureOf(Buffer.alloc(32 * 1024 * 1024, 0x28))).to.match(/line of/);
  });

  it("searches a long line that comes byte by byte only once", () => {
    const parser = new Parser(new RecordingSink());
    const started = process.resourceUsage().userCPUTime;
    for (let i = 0; i < 60_000; i++) viaReserve(parser, Buffer.from("+"));
    // Searched from the beginning each time it would be 1.8 thousand million steps.
    expect((process.resourceUsage().userCPUTime - started) / 1000).to.be.below(1500);
  });

  it("accepts the greatest depth and refuses one more", () => {
    for (const feed of FEEDS) {
      const [event] = parse([`${"*1\r\n".repeat(MAX_DEPTH)}:7\r\n`], 0, feed);
      let value: unknown = event![1];
      let depth = 0;
      while (Array.isArray(value)) {
        value = value[0];
        depth++;
      }
      expect([depth, value]).to.deep.equal([MAX_DEPTH, 7]);
      expect(failureOf(Buffer.from("*1\r\n".repeat(MAX_DEPTH + 1)), feed)).to.match(
        /nesting deeper than 1024/,
      );
    }
  });

  it("survives a nest of 100,000 levels of every kind", () => {
    for (const level of ["*1\r\n", "~1\r\n", "%1\r\n", "%1\r\n:1\r\n", "|1\r\n"]) {
      for (const decoding of [0, Decode.Resp3Shapes]) {
        const events = parse([level.repeat(100_000)], decoding);
        expect(events.length).to.equal(1);
        expect((events[0]![1] as Error).message).to.match(/nesting deeper/);
      }
    }
  });

  it("allocates nothing for lengths that are only announced", () => {
    const announced = [
      "*2147483647\r\n",
      "~2147483647\r\n:1\r\n",
      "%1073741823\r\n:1\r\n",
      ">2147483647\r\n:1\r\n",
      "*2147483647\r\n".repeat(1000),
      "*65536\r\n".repeat(1000),
      `$${MAX_BULK_BYTES}\r\nabc`,
      `*3\r\n$${MAX_BULK_BYTES}\r\nabc`,
      "!536870000\r\nabc",
    ];
    for (const feed of FEEDS) {
      for (const wire of announced) {
        for (const decoding of [0, Decode.Buffers]) {
          const growth = memoryGrowth(() => {
            const sink = new RecordingSink(decoding);
            const parser = new Parser(sink);
            for (const byte of wire.slice(0, 30)) feed(parser, Buffer.from(byte));
            feed(parser, Buffer.from(wire.slice(30)));
            for (let i = 0; i < 20; i++) feed(parser, Buffer.from(":"));
            return sink.events.every(([kind]) => kind === "failure") && parser;
          });
          expect(growth).to.be.below(4 * 1024 * 1024);
        }
      }
    }
  });

  it("fails a value that no string can hold alone, also inside a reply, and keeps nothing of it", () => {
    const length = MAX_TEXT_BYTES + 1;
    if (length > MAX_BULK_BYTES) return;
    const piece = Buffer.alloc(8 * 1024 * 1024, 0x61);
    for (const [before, behind] of [
      ["", ""],
      ["*3\r\n:1\r\n", "%1\r\n+a\r\n*2\r\n+b\r\n$3\r\nabc\r\n"],
      ["%1\r\n", "*1\r\n-ERR x\r\n"],
      ["*1\r\n|1\r\n+a\r\n", "+x\r\n"],
    ] as const) {
      const sink = new RecordingSink(Decode.Resp3Shapes);
      const parser = new Parser(sink);
      viaPush(parser, Buffer.from(`:1\r\n${before}$${length}\r\n`));
      const growth = memoryGrowth(() => {
        for (let left = length; left > 0; left -= piece.length) {
          parser.push(left < piece.length ? piece.subarray(0, left) : piece);
        }
        return parser;
      });
      expect(growth).to.be.below(16 * 1024 * 1024);
      viaPush(parser, Buffer.from(`\r\n${behind}$2\r\nok\r\n`));
      const isMetadata = before.includes("|");
      expect(sink.events.map(([kind]) => kind)).to.deep.equal([
        "reply",
        isMetadata ? "reply" : "error",
        "reply",
      ]);
      if (!isMetadata) {
        const error = sink.events[1]![1] as Error & { code: string };
        expect(error.name).to.equal("ReplyTooLongError");
        expect(error.code).to.equal("REPLY_TOO_LONG");
        expect(error.message).to.include(`${length} bytes`);
      }
      expect(sink.events[2]![1]).to.equal("ok");
    }
  }).timeout(60_000);
});
