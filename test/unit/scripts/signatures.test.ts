/** The generator of the method types: notation, overloads, coverage of the command table. */

import { expect } from "chai";
import { METHOD_NAMES } from "../../../scripts/commands/overrides";
import { REMARKS, REPLIES } from "../../../scripts/commands/replies";
import { shapesOf } from "../../../scripts/commands/signature-shapes";
import { replyTypes, signatureLines } from "../../../scripts/commands/signature-text";
import { methodShapes, signaturesSource } from "../../../scripts/commands/signatures";
import { readSnapshots } from "../../../scripts/commands/snapshot";
import { fromDocs, fromNotation } from "../../../scripts/commands/syntax";
import { isOfType, replyOfCall } from "../../support/reply-type";

const snapshots = readSnapshots();
const plain = { name: "method", wantsBuffers: false };

/** The signatures of a method with one form, without what every signature ends with. */
function signatures(notation: string, reply: string | Record<string, string>): string[] {
  return shapesOf([{ tree: fromNotation(notation), reply }])
    .flatMap((shape) => signatureLines(plain, shape))
    .map((line) => line.replace(/^method\(|, Context>;$/g, "").replace("): Result<", " => "));
}

describe("notation of arguments", () => {
  it("reads values, words, choices, options and lists", () => {
    expect(signatures("key! start# [NX|XX]", "number")).to.deep.equal([
      'key: RedisKey, start: number | string, condition: "NX" | "XX", callback?: Callback<number, Context> => number',
      "key: RedisKey, start: number | string, callback?: Callback<number, Context> => number",
    ]);
    expect(signatures("key! member...", "number")).to.deep.equal([
      "...args: [key: RedisKey, ...members: OneOrMany<RedisValue>[], callback: Callback<number, Context>] => number",
      "key: RedisKey, ...members: OneOrMany<RedisValue>[] => number",
    ]);
    expect(signatures("data:object", '"OK"')).to.deep.equal([
      'data: object, callback?: Callback<"OK", Context> => "OK"',
    ]);
  });

  it("refuses what is not balanced", () => {
    for (const text of ["key! [NX", "key! NX]", "(a", "a)"])
      expect(() => fromNotation(text), text).to.throw();
  });

  it("gives the same tree as the documentation of a server", () => {
    const docs = [
      { name: "key", type: "key" },
      { name: "count", type: "integer", token: "COUNT", flags: ["optional"] },
      { name: "member", type: "string", flags: ["multiple"] },
    ];
    const reply = "number";
    const shapes = shapesOf([{ tree: fromDocs(docs), reply }]);
    expect(shapes).to.deep.equal(shapesOf([{ tree: fromNotation("key! [COUNT count#] member..."), reply }]));
  });
});

describe("overloads", () => {
  it("are told apart by the reply of a word or an argument that is present", () => {
    const lines = signatures("key! [count# [WITHSCORES]]", {
      WITHSCORES: "V[] => [V, number][]",
      count: "V[]",
      else: "V | null",
    });
    expect(lines.map((line) => line.split(" => ").at(-1))).to.deep.equal([
      'ReplyShape<string[], [string, number][], Context["mapping"]>',
      "string[]",
      "string | null",
    ]);
  });

  it("become one tuple where there would be more than eight", () => {
    const lines = signatures("key! [A] [B] [C] [D]", "number");
    expect(lines).to.have.length(1);
    expect(lines[0]).to.include('...a: [] | [a: "A"], ...b: [] | [b: "B"]');
    // What the compiler compares of overloads is their parameters, not what is inside of a union of tuples.
    expect(lines[0]).to.match(/^key: RedisKey, \.\.\.args: \[/);
    expect(signatures("key! [A] [B] [C]", "number")).to.have.length(8);
  });

  it("have one list at most", () => {
    const [, line] = signatures("numkeys# key!... [WEIGHTS weight#...] [WITHSCORES]", "V[]");
    expect(line).to.match(/^\.\.\.args: \[numkeys: number \| string, \.\.\.args: OneOrMany<RedisValue>\[\]/);
  });

  it("give Buffers for strings and status words in the twins", () => {
    expect(replyTypes('"OK" | null', true).legacy).to.equal("Buffer | null");
    expect(replyTypes('"OK" | "NOKEY"', true).legacy).to.equal("Buffer");
    expect(replyTypes("V => number", true)).to.deep.equal({ legacy: "Buffer", resp3: "number", maps: [] });
  });

  it("have the types of views: a form for each shape, and for their callbacks", () => {
    const line = (hasOwnForm: boolean): string[] =>
      shapesOf([{ tree: fromNotation("key!"), reply: "V => number => V[]" }]).flatMap((shape) =>
        signatureLines({ ...plain, hasOwnForm }, shape),
      );
    const shape = 'ReplyShape<string, number, Context["mapping"], string[]>';
    expect(line(false)).to.deep.equal([
      `method(key: RedisKey, callback?: Callback<${shape}, Context>): Result<${shape}, Context>;`,
    ]);
    expect(line(true)).to.deep.equal([
      `method(key: RedisKey, callback?: Callback<${shape}>): OwnResult<${shape}, Context>;`,
    ]);
  });
});

describe("generated signatures", () => {
  const source = signaturesSource(snapshots);

  it("have every method of the table and its twin", () => {
    const missing = METHOD_NAMES.flatMap((name) => [name, `${name}Buffer`]).filter((name) => {
      const written = /^\w+$/.test(name) ? name : JSON.stringify(name);
      return !source.includes(`\n  ${written}(`) && !source.includes(`\n  ${written}<`);
    });
    // MULTI is declared by hand, and has no twin.
    expect(missing).to.deep.equal(["multiBuffer"]);
  });

  it("have eight overloads of a command or subcommand at most", () => {
    const perPart = new Map<string, number>();
    for (const name of METHOD_NAMES) {
      for (const shape of methodShapes(snapshots, name)) {
        const [first] = shape.elements;
        const isSubcommand = first?.kind === "one" && first.label === "subcommand";
        const part = isSubcommand ? `${name} ${first.type}` : name;
        perPart.set(part, (perPart.get(part) ?? 0) + signatureLines(plain, shape).length);
      }
    }
    expect([...perPart].filter(([, count]) => count > 8)).to.deep.equal([]);
  });

  it("use every line of the replies", () => {
    const known = new Set(snapshots.flatMap(({ commands }) => Object.keys(commands)));
    const unused = Object.keys(REPLIES).filter((name) => !known.has(name) && !name.includes("|"));
    expect(unused).to.deep.equal([]);
    expect(Object.keys(REMARKS).filter((name) => !(name in REPLIES))).to.deep.equal([]);
    expect(METHOD_NAMES.filter((name) => !(name in REPLIES) && name !== "exec")).to.deep.equal([]);
  });

  it("document every method", () => {
    const lines = source.split("\n");
    const names = new Set<string>();
    for (const [index, line] of lines.entries()) {
      const [, name = ""] = /^ {2}"?([a-z][\w-]*)"?[(<]/.exec(line) ?? [];
      if (name === "" || names.has(name)) continue;
      names.add(name);
      expect(lines[index - 1]?.trim(), name).to.match(/\*\/$/);
    }
    expect(names.size).to.be.greaterThan(600);
  });
});

describe("types as texts", () => {
  it("tell values apart", () => {
    const cases: [type: string, good: unknown[], bad: unknown[]][] = [
      ["string | null", ["a", null], [1, undefined, Buffer.from("a")]],
      ["Buffer[]", [[], [Buffer.from("a")]], [["a"], Buffer.from("a")]],
      ['"OK"', ["OK"], ["KO", null]],
      ["(string | null)[][]", [[["a", null]], []], [["a"], [[1]]]],
      ["[member: string, score: number] | []", [["a", 1], []], [["a"], ["a", 1, 2], [1, "a"]]],
      ["[a: number, ...rest: [string, number][]]", [[1], [1, ["a", 2]]], [[], [1, ["a"]]]],
      ["Record<string, number[]>", [{}, { a: [1] }], [[], null, { a: ["b"] }]],
    ];
    for (const [type, good, bad] of cases) {
      for (const value of good)
        expect(isOfType(type, value), `${type} ${JSON.stringify(value)}`).to.equal(true);
      for (const value of bad)
        expect(isOfType(type, value), `${type} ${JSON.stringify(value)}`).to.equal(false);
    }
  });

  it("find the overload of a call", () => {
    const shapes = methodShapes(snapshots, "zrange");
    const replyTo = (...args: string[]) => replyOfCall(shapes, args);
    expect(replyTo("key", "0", "-1")).to.equal("V[]");
    expect(replyTo("key", "0", "-1", "REV", "WITHSCORES")).to.include("number");
    expect(replyTo("key", "0", "-1", "LIMIT", "0")).to.equal(undefined);
    expect(replyOfCall(methodShapes(snapshots, "blpop"), ["a", "b", "0"])).to.be.a("string");
    expect(replyOfCall(methodShapes(snapshots, "get"), [])).to.equal(undefined);
  });

  it("are refused for a command that no server describes and that has no line of its own", () => {
    const bare = readSnapshots().map((snapshot) => {
      const append = snapshot.commands["append"];
      const commands = append === undefined ? {} : { append: { ...append, docs: {} } };
      return { ...snapshot, commands: { ...snapshot.commands, ...commands } };
    });
    expect(() => signaturesSource(bare)).to.throw(/describes append.*syntax-overrides\.ts/);
  });
});
