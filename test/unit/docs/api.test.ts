/** docs/api.md is what the declarations of the package say. */

import { expect } from "chai";
import { readDeclaration } from "../../../scripts/api-docs/declarations";
import { apiPage, isFresh } from "../../../scripts/api-docs/generate";

describe("docs/api.md", () => {
  it("is fresh (npm run generate)", () => {
    expect(isFresh()).to.equal(true);
  });

  it("has what users call", () => {
    const page = apiPage();
    for (const heading of [
      "## Redis",
      "### duplicate()",
      "### bulk()",
      "### nodes()",
      "### Redis.createClient()",
    ]) {
      expect(page.split("\n")).to.include(heading);
    }
    expect(page).to.not.match(/^### \[(?!Symbol)/m);
  });
});

describe("readDeclaration", () => {
  const file = [
    "/** Listeners. */",
    "export interface Sample {",
    "    on(event: string): this;",
    "}",
    "/**",
    " * What it is.",
    " *",
    " * @example",
    " * new Sample();",
    " */",
    "export declare class Sample<T> extends Base<T> {",
    "    private secret;",
    "    readonly [HIDDEN]: string;",
    "    /** How it ends. */",
    "    end(options: {",
    "        /** In parts. */",
    "        now: boolean;",
    "    }): void;",
    "    end(): void;",
    "    get size(): number;",
    "    set size(value: number);",
    "    get length(): number;",
    "    /** @deprecated Use `end`. */",
    "    static close(): void;",
    "    /** @param first The first. */",
    "    constructor(first: string);",
    "    abstract open(): void;",
    "}",
    "/** A word. */",
    "export type Word = {",
    "    text: string;",
    "};",
  ].join("\n");

  it("reads classes", () => {
    const sample = readDeclaration(file, "Sample");
    expect(sample?.kind).to.equal("class");
    expect(sample?.head).to.equal("class Sample<T> extends Base<T>");
    expect(sample?.comment).to.deep.equal({
      text: "What it is.",
      examples: ["new Sample();"],
      isDeprecated: false,
    });
    const members = sample?.members.map(({ name, signatures, comment, isStatic }) => [
      name,
      signatures,
      comment?.text,
      isStatic,
    ]);
    expect(members).to.deep.equal([
      ["constructor", ["constructor(first: string)"], "`first`: The first.", false],
      ["end", ["end(options: { now: boolean; }): void", "end(): void"], "How it ends.", false],
      ["size", ["size: number"], undefined, false],
      ["length", ["readonly length: number"], undefined, false],
      ["close", ["static close(): void"], "Deprecated. Use `end`.", true],
    ]);
  });

  it("reads types", () => {
    expect(readDeclaration(file, "Word")).to.deep.include({
      kind: "type",
      source: "export type Word = {\n    text: string;\n};",
    });
    expect(readDeclaration(file, "None")).to.equal(null);
  });
});
