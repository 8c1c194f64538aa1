import { expect } from "chai";
import { ReplyError } from "../../../src/errors";
import { Parser } from "../../../src/protocol/parser";
import { Decode, type Reply } from "../../../src/protocol/resp-types";
import { FEEDS, parse, parseOne, RecordingSink, viaPush, viaReserve } from "./recording-sink";

const { BigInts, Buffers, Maps, Objects, Resp3Shapes, StringNumbers } = Decode;

interface Sample {
  readonly wire: string;
  /** Expected value without flags, and by flags. */
  readonly plain: Reply;
  readonly buffers?: Reply;
  readonly resp3?: Reply;
  readonly resp3Buffers?: Reply;
  readonly stringNumbers?: Reply;
}

function bytes(text: string): Buffer {
  return Buffer.from(text);
}

const SAMPLES: readonly Sample[] = [
  { wire: "+OK\r\n", plain: "OK", buffers: bytes("OK") },
  { wire: "+\r\n", plain: "", buffers: bytes("") },
  { wire: "+QUEUED\r\n", plain: "QUEUED", buffers: bytes("QUEUED") },
  { wire: "+grüße\r\n", plain: "grüße", buffers: bytes("grüße") },
  { wire: ":0\r\n", plain: 0, stringNumbers: "0" },
  { wire: ":-1\r\n", plain: -1, stringNumbers: "-1" },
  { wire: ":+7\r\n", plain: 7, stringNumbers: "+7" },
  { wire: ":123456789012345\r\n", plain: 123456789012345, stringNumbers: "123456789012345" },
  { wire: ":9007199254740991\r\n", plain: 9007199254740991, stringNumbers: "9007199254740991" },
  { wire: ":-9007199254740991\r\n", plain: -9007199254740991, stringNumbers: "-9007199254740991" },
  { wire: ":9223372036854775807\r\n", plain: 2 ** 63, stringNumbers: "9223372036854775807" },
  { wire: ":-9223372036854775808\r\n", plain: -(2 ** 63), stringNumbers: "-9223372036854775808" },
  { wire: "$0\r\n\r\n", plain: "", buffers: bytes("") },
  { wire: "$5\r\nhello\r\n", plain: "hello", buffers: bytes("hello") },
  { wire: "$16\r\nabcdefghijklmnop\r\n", plain: "abcdefghijklmnop", buffers: bytes("abcdefghijklmnop") },
  { wire: "$17\r\nabcdefghijklmnopq\r\n", plain: "abcdefghijklmnopq", buffers: bytes("abcdefghijklmnopq") },
  { wire: "$4\r\n\r\n\r\n\r\n", plain: "\r\n\r\n", buffers: bytes("\r\n\r\n") },
  { wire: "$10\r\naé€😀\r\n", plain: "aé€😀", buffers: bytes("aé€😀") },
  { wire: "$-1\r\n", plain: null },
  { wire: "*-1\r\n", plain: null },
  { wire: "_\r\n", plain: null },
  { wire: "*0\r\n", plain: [] },
  { wire: "*2\r\n$1\r\na\r\n:5\r\n", plain: ["a", 5], buffers: [bytes("a"), 5], stringNumbers: ["a", "5"] },
  {
    wire: "*3\r\n*1\r\n*0\r\n$-1\r\n*1\r\n+x\r\n",
    plain: [[[]], null, ["x"]],
    buffers: [[[]], null, [bytes("x")]],
  },
  { wire: "#t\r\n", plain: 1, resp3: true, resp3Buffers: true },
  { wire: "#f\r\n", plain: 0, resp3: false, resp3Buffers: false },
  {
    wire: ",1.5\r\n",
    plain: "1.5",
    buffers: bytes("1.5"),
    resp3: 1.5,
    resp3Buffers: 1.5,
    stringNumbers: "1.5",
  },
  { wire: ",10\r\n", plain: "10", buffers: bytes("10"), resp3: 10, resp3Buffers: 10, stringNumbers: "10" },
  { wire: ",-1.e-7\r\n", plain: "-1.e-7", buffers: bytes("-1.e-7"), resp3: -1e-7, resp3Buffers: -1e-7 },
  { wire: ",inf\r\n", plain: "inf", buffers: bytes("inf"), resp3: Infinity, resp3Buffers: Infinity },
  { wire: ",-inf\r\n", plain: "-inf", buffers: bytes("-inf"), resp3: -Infinity, resp3Buffers: -Infinity },
  { wire: ",nan\r\n", plain: "nan", buffers: bytes("nan"), resp3: Number.NaN, resp3Buffers: Number.NaN },
  {
    wire: "(3492890328409238509324850943850943825024385\r\n",
    plain: "3492890328409238509324850943850943825024385",
  },
  { wire: "(-12\r\n", plain: "-12" },
  { wire: "=8\r\ntxt:text\r\n", plain: "text", buffers: bytes("text") },
  { wire: "=4\r\nmkd:\r\n", plain: "", buffers: bytes("") },
  { wire: "~2\r\n+a\r\n:1\r\n", plain: ["a", 1], buffers: [bytes("a"), 1] },
  { wire: "~0\r\n", plain: [] },
  { wire: "%0\r\n", plain: [], resp3: {}, resp3Buffers: {} },
  {
    wire: "%2\r\n+a\r\n*1\r\n$1\r\nx\r\n$1\r\nb\r\n%1\r\n:1\r\n#t\r\n",
    plain: ["a", ["x"], "b", [1, 1]],
    buffers: [bytes("a"), [bytes("x")], bytes("b"), [1, 1]],
    resp3: { a: ["x"], b: { 1: true } },
    resp3Buffers: { a: [bytes("x")], b: { 1: true } },
  },
  {
    wire: "%4\r\n,1.50\r\n+a\r\n#f\r\n+b\r\n_\r\n+c\r\n*1\r\n+k\r\n+d\r\n",
    plain: ["1.50", "a", 0, "b", null, "c", ["k"], "d"],
    buffers: [bytes("1.50"), bytes("a"), 0, bytes("b"), null, bytes("c"), [bytes("k")], bytes("d")],
    resp3: { "1.50": "a", false: "b", null: "c", '["k"]': "d" },
    resp3Buffers: { "1.50": bytes("a"), false: bytes("b"), null: bytes("c"), '["k"]': bytes("d") },
  },
  { wire: "|1\r\n+ttl\r\n:3600\r\n+value\r\n", plain: "value", buffers: bytes("value") },
  { wire: "|0\r\n:1\r\n", plain: 1 },
  {
    wire: "*3\r\n:1\r\n|1\r\n*2\r\n-ERR x\r\n|1\r\n+a\r\n+b\r\n+c\r\n%1\r\n+x\r\n$3\r\nyyy\r\n:2\r\n|0\r\n:3\r\n",
    plain: [1, 2, 3],
  },
];

/** `\xNN` in a sample is a byte, everything else UTF-8. */
function wireOf(text: string): Buffer {
  const isBinary = text.includes("\xe2");
  return Buffer.from(text, isBinary ? "latin1" : "utf8");
}

const MODES: readonly (readonly [flags: number, expected: (sample: Sample) => Reply])[] = [
  [0, (sample) => sample.plain],
  [Buffers, (sample) => (sample.buffers === undefined ? sample.plain : sample.buffers)],
  [Resp3Shapes, (sample) => (sample.resp3 === undefined ? sample.plain : sample.resp3)],
  [
    Resp3Shapes | Buffers,
    (sample) => {
      if (sample.resp3Buffers !== undefined) return sample.resp3Buffers;
      return sample.buffers === undefined ? sample.plain : sample.buffers;
    },
  ],
];

describe("parser: values", () => {
  for (const sample of SAMPLES) {
    it(JSON.stringify(sample.wire), () => {
      for (const [flags, expected] of MODES) {
        expect(parseOne(wireOf(sample.wire), flags)).to.deep.equal(expected(sample));
      }
      if (sample.stringNumbers !== undefined) {
        expect(parseOne(wireOf(sample.wire), StringNumbers)).to.deep.equal(sample.stringNumbers);
        expect(parseOne(wireOf(sample.wire), StringNumbers | Resp3Shapes)).to.deep.equal(
          sample.stringNumbers,
        );
      }
    });
  }

  describe("with forms of one call", () => {
    const NESTED = "%2\r\n+a\r\n:1\r\n:2\r\n*1\r\n%1\r\n$1\r\nb\r\n#t\r\n";

    it("makes Map of maps at any depth, with texts as keys", () => {
      const inner = (value: Reply): Reply => new Map([["b", value]]);
      const outer = (one: Reply, value: Reply): Reply =>
        new Map([
          ["a", one],
          ["2", [inner(value)]],
        ] as [string, Reply][]);
      expect(parseOne(NESTED, Maps)).to.deep.equal(outer(1, 1));
      expect(parseOne(NESTED, Maps | Resp3Shapes)).to.deep.equal(outer(1, true));
      expect(parseOne(NESTED, Maps | Buffers | BigInts)).to.deep.equal(outer(1n, 1));
      expect([
        ...(parseOne("%2\r\n:2\r\n:0\r\n:1\r\n:0\r\n", Maps) as Map<string, Reply>).keys(),
      ]).to.deep.equal(["2", "1"]);
      expect(parseOne("%0\r\n", Maps)).to.deep.equal(new Map());
      expect(parseOne("%1\r\n+k\r\n$1\r\nv\r\n", Maps | Buffers)).to.deep.equal(new Map([["k", bytes("v")]]));
      expect(parseOne("%1\r\n%1\r\n+a\r\n:1\r\n:2\r\n", Maps | BigInts)).to.deep.equal(
        new Map([['["a","1"]', 2n]]),
      );
    });

    it("makes objects of maps and leaves other types alone", () => {
      expect(parseOne(NESTED, Objects)).to.deep.equal({ a: 1, 2: [{ b: 1 }] });
      expect(parseOne(",1.5\r\n", Objects)).to.equal("1.5");
    });

    it("makes bigints of integers and big numbers, exactly", () => {
      for (const text of ["0", "7", "-1", "123456789012345", "9223372036854775807", "-9223372036854775808"]) {
        expect(parseOne(`:${text}\r\n`, BigInts)).to.equal(BigInt(text));
      }
      expect(parseOne(":+7\r\n", BigInts)).to.equal(7n);
      expect(parseOne("(-3492890328409238509324850943850943825024385\r\n", BigInts)).to.equal(
        -3492890328409238509324850943850943825024385n,
      );
      expect(parseOne("*2\r\n:1\r\n,1.5\r\n", BigInts | Resp3Shapes)).to.deep.equal([1n, 1.5]);
      expect(parseOne("*1\r\n:12\r\n", BigInts | Buffers)).to.deep.equal([12n]);
    });
  });

  it("gives doubles as strings to *Buffer with StringNumbers", () => {
    expect(parseOne(",1.5\r\n", StringNumbers | Buffers)).to.equal("1.5");
    expect(parseOne(",1.5\r\n", StringNumbers | Buffers | Resp3Shapes)).to.equal("1.5");
    expect(parseOne(":15\r\n", StringNumbers | Buffers)).to.equal("15");
  });

  it("never gives minus zero for an integer", () => {
    expect(Object.is(parseOne(":-0\r\n"), 0)).to.equal(true);
  });

  it("keeps special keys as own enumerable properties", () => {
    const map = parseOne("%2\r\n+__proto__\r\n:1\r\n+constructor\r\n:2\r\n", Resp3Shapes) as object;
    expect(Object.keys(map)).to.deep.equal(["__proto__", "constructor"]);
    expect(Object.getPrototypeOf(map)).to.equal(Object.prototype);
    expect(Object.getOwnPropertyDescriptor(map, "__proto__")?.value).to.equal(1);
  });

  it("replaces invalid UTF-8, in short and in long strings", () => {
    for (const size of [3, 40, 300, 5000]) {
      const value = Buffer.alloc(size, 0x61);
      value[1] = 0xff;
      const wire = Buffer.concat([Buffer.from(`$${size}\r\n`), value, Buffer.from("\r\n")]);
      expect(parseOne(wire)).to.equal(`a\ufffd${"a".repeat(size - 2)}`);
      expect(parseOne(wire, Buffers)).to.deep.equal(value);
    }
  });
});

describe("parser: errors as replies", () => {
  it("hands top-level errors over as errors", () => {
    for (const wire of ["-ERR bad thing\r\n", "!13\r\nERR bad thing\r\n"]) {
      const [event] = parse([wire], Buffers);
      expect(event![0]).to.equal("error");
      const error = event![1] as ReplyError;
      expect(error).to.be.instanceOf(ReplyError);
      expect(error.message).to.equal("ERR bad thing");
      expect(error.stack).to.equal("ReplyError: ERR bad thing");
      expect(JSON.stringify(error)).to.equal('{"code":"REPLY"}');
    }
  });

  it("keeps errors inside aggregates as elements", () => {
    const [event] = parse(["*3\r\n+a\r\n-ERR grün\r\n!5\r\nERR x\r\n"]);
    expect(event![0]).to.equal("reply");
    const [first, second, third] = event![1] as [string, ReplyError, ReplyError];
    expect(first).to.equal("a");
    expect([second.message, third.message]).to.deep.equal(["ERR grün", "ERR x"]);
    expect(second).to.be.instanceOf(ReplyError);
  });

  it("leaves the stack depth of other errors alone", () => {
    const before = Error.stackTraceLimit;
    parse(["-ERR\r\n"]);
    expect(Error.stackTraceLimit).to.equal(before);
  });
});

describe("parser: pushes and metadata", () => {
  it("hands pushes over between replies, as Buffers in flat form, and asks no decoding for them", () => {
    const sink = new RecordingSink(Resp3Shapes);
    new Parser(sink).push(
      Buffer.from(">2\r\n+invalidate\r\n%1\r\n+k\r\n#t\r\n:1\r\n|1\r\n+a\r\n+b\r\n>0\r\n#t\r\n"),
    );
    expect(sink.events).to.deep.equal([
      ["push", [bytes("invalidate"), [bytes("k"), 1]]],
      ["reply", 1],
      ["push", []],
      ["reply", true],
    ]);
    expect(sink.asked).to.equal(2);
  });

  it("asks for the decoding of each reply once, however it is split", () => {
    const wire = Buffer.from("|1\r\n+a\r\n+b\r\n*2\r\n:1\r\n$3\r\nabc\r\n+OK\r\n-ERR\r\n$-1\r\n");
    const sink = new RecordingSink();
    const parser = new Parser(sink);
    for (const byte of wire) viaReserve(parser, Buffer.from([byte]));
    expect(sink.asked).to.equal(4);
    expect(sink.events.map(([kind]) => kind)).to.deep.equal(["reply", "reply", "error", "reply"]);
  });
});

describe("parser: splits", () => {
  it("reads every sample split at every byte, in both ways", () => {
    for (const sample of SAMPLES) {
      const wire = wireOf(`${sample.wire}${sample.wire}`);
      for (const [flags, expected] of MODES) {
        const value = expected(sample);
        for (const feed of FEEDS) {
          for (let at = 0; at <= wire.length; at++) {
            const events = parse([wire.subarray(0, at), wire.subarray(at)], flags, feed);
            expect(events).to.deep.equal([
              ["reply", value],
              ["reply", value],
            ]);
          }
        }
      }
    }
  });

  it("reads all samples one byte at a time and in one piece", () => {
    const wire = Buffer.concat(SAMPLES.map((sample) => wireOf(sample.wire)));
    const expected = SAMPLES.map((sample) => ["reply", sample.plain]);
    for (const feed of FEEDS) {
      const singles = Array.from(wire, (byte) => Buffer.from([byte]));
      expect(parse(singles, 0, feed)).to.deep.equal(expected);
      expect(parse([wire], 0, feed)).to.deep.equal(expected);
    }
  });

  it("reads interleaved connections that share the slab", () => {
    const wire = Buffer.from("*2\r\n$5\r\nhello\r\n$7\r\nwörld!\r\n".repeat(3));
    const expected = Array.from({ length: 3 }, () => ["reply", ["hello", "wörld!"]]);
    for (let step = 1; step < 20; step++) {
      const sinks = Array.from({ length: 3 }, () => new RecordingSink());
      const parsers = sinks.map((sink) => new Parser(sink));
      for (const parser of parsers) parser.reserve();
      for (let at = 0; at < wire.length; at += step) {
        for (const parser of parsers) viaReserve(parser, wire.subarray(at, at + step));
      }
      for (const sink of sinks) expect(sink.events).to.deep.equal(expected);
    }
  });

  it("reads values larger than any buffer, ASCII and not, as strings and Buffers", () => {
    for (const pattern of ["abcdefghij", "häß€😀"]) {
      for (const size of [60_000, 300_000, 1_000_000, 5_000_000]) {
        const text = pattern.repeat(Math.ceil(size / pattern.length));
        const body = Buffer.from(text);
        const wire = Buffer.concat([
          Buffer.from(`:1\r\n*2\r\n$${body.length}\r\n`),
          body,
          Buffer.from("\r\n+tail\r\n"),
        ]);
        for (const feed of FEEDS) {
          for (const flags of [0, Buffers]) {
            const sink = new RecordingSink(flags);
            const parser = new Parser(sink);
            for (let at = 0; at < wire.length; at += 65_536) feed(parser, wire.subarray(at, at + 65_536));
            expect(sink.events.length).to.equal(2);
            const [value, tail] = sink.events[1]![1] as [string | Buffer, string | Buffer];
            expect(String(tail)).to.equal("tail");
            expect(flags === 0 ? value === text : body.equals(value as Buffer)).to.equal(true);
          }
        }
      }
    }
  });

  it("keeps Buffers apart from the bytes that arrive later", () => {
    for (const size of [3, 30, 3000]) {
      const sink = new RecordingSink(Buffers);
      const parser = new Parser(sink);
      for (const fill of ["a", "b", "c"]) {
        viaReserve(parser, Buffer.from(`$${size}\r\n${fill.repeat(size)}\r\n`));
      }
      const texts = sink.events.map(([, value]) => String(value));
      expect(texts).to.deep.equal(["a", "b", "c"].map((fill) => fill.repeat(size)));
    }
  });
});

describe("parser: stopping", () => {
  it("reports nothing more once it is stopped in the middle of a buffer", () => {
    for (const feed of FEEDS) {
      const sink = new RecordingSink();
      const parser = new Parser(sink);
      sink.after = () => parser.stop();
      feed(parser, Buffer.from(":1\r\n:2\r\n:3"));
      feed(parser, Buffer.from("\r\n:4\r\n"));
      expect(sink.events).to.deep.equal([["reply", 1]]);
      expect(sink.asked).to.equal(1);
    }
  });

  it("can be stopped when it asks for the decoding", () => {
    const sink = new RecordingSink();
    const parser = new Parser(sink);
    sink.nextDecoding = () => {
      parser.stop();
      return 0;
    };
    viaPush(parser, Buffer.from(":1\r\n"));
    expect(sink.events).to.deep.equal([]);
  });
});
