/** A stream over pages that the test gives: what is asked for, when, and how it ends. */

import { expect } from "chai";
import fc from "fast-check";
import { ScanStream, type ScanStreamSettings } from "../../../src/streaming/scan-stream";
import { failureOf } from "../../support/outcome";
import { fixedRuns } from "../../support/properties";
import { uncaughtDuring } from "../../support/uncaught";

type Page = [cursor: string | Buffer, elements: unknown[]];

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Has one page after another, and keeps what it was asked. */
class Source {
  readonly asked: unknown[][] = [];
  /** When it is set, pages are given by hand. */
  give: ((page: Page) => void) | null = null;
  refuse: ((error: Error) => void) | null = null;
  isByHand = false;

  constructor(private readonly pages: Page[] = []) {}

  scan(...args: unknown[]): Promise<Page> {
    this.asked.push(args);
    if (!this.isByHand) return Promise.resolve(this.pages.shift() as Page);
    return new Promise((resolve, reject) => {
      this.give = resolve;
      this.refuse = reject;
    });
  }
}

function open(source: Source, settings: Partial<ScanStreamSettings> = {}): ScanStream {
  return new ScanStream({ command: "scan", redis: source, ...settings });
}

describe("ScanStream", () => {
  it("gives all elements in order, one page for each question, however they are divided", () => {
    const pages = fc.array(fc.array(fc.nat(9), { maxLength: 3 }), { minLength: 1, maxLength: 8 });
    return fc.assert(
      fc.asyncProperty(pages, fc.boolean(), fc.boolean(), async (elements, isBytes, isSlow) => {
        const cursorOf = (text: string): string | Buffer => (isBytes ? Buffer.from(text) : text);
        const source = new Source(
          elements.map(
            (page, index): Page => [cursorOf(index === elements.length - 1 ? "0" : `${index + 1}0`), page],
          ),
        );
        const seen: unknown[][] = [];
        for await (const page of open(source)) {
          if (isSlow) await turn();
          seen.push(page as unknown[]);
        }
        expect(seen).to.deep.equal(elements);
        expect(source.asked.map((args) => args.map(String))).to.deep.equal(
          elements.map((_, index) => [index === 0 ? "0" : `${index}0`]),
        );
      }),
      fixedRuns(60),
    );
  });

  it("asks with what it was given, and says nothing of the rest", async () => {
    const settings: [Partial<ScanStreamSettings>, unknown[]][] = [
      [{ key: "k" }, ["k", "0"]],
      [{ key: "" }, ["", "0"]],
      [{ match: "a*" }, ["0", "MATCH", "a*"]],
      [{ type: "string", count: 5 }, ["0", "TYPE", "string", "COUNT", "5"]],
      [
        { key: "k", match: "a*", count: "7", noValues: true },
        ["k", "0", "MATCH", "a*", "COUNT", "7", "NOVALUES"],
      ],
      [{ match: "", count: 0, noValues: false }, ["0"]],
    ];
    for (const [given, asked] of settings) {
      const source = new Source([["0", []]]);
      for await (const _ of open(source, given)) void _;
      expect(source.asked).to.deep.equal([asked]);
    }
  });

  it("calls the method that it was told, on its client", async () => {
    const client = {
      pages: [["0", ["a"]]] as Page[],
      hscanBuffer(): Promise<Page> {
        return Promise.resolve(this.pages.shift() as Page);
      },
    };
    const stream = open(client as never, { command: "hscanBuffer" });
    for await (const page of stream) expect(page).to.deep.equal(["a"]);
    expect(client.pages).to.deep.equal([]);
  });

  it("asks for the next page only when its reader has room", async () => {
    const source = new Source(Array.from({ length: 9 }, (_, n): Page => [`${n + 1}0`, ["a"]]));
    const stream = open(source, { highWaterMark: 2 });
    expect(source.asked.length).to.equal(0);
    stream.read();
    for (let n = 0; n < 5; n++) await turn();
    expect(source.asked.length).to.equal(2);
    stream.read();
    for (let n = 0; n < 5; n++) await turn();
    expect(source.asked.length).to.equal(3);
    stream.destroy();
  });

  it("keeps the key and the pattern as they were when it was made", async () => {
    const [key, match] = [Buffer.from("key"), Buffer.from("a*")];
    const source = new Source([
      ["1", []],
      ["0", []],
    ]);
    const stream = open(source, { key, match });
    key.fill("x");
    match.fill("x");
    for await (const _ of stream) void _;
    expect(source.asked.map((args) => args.map(String))).to.deep.equal([
      ["key", "0", "MATCH", "a*"],
      ["key", "1", "MATCH", "a*"],
    ]);
  });

  it("ends after the page that is under way when it is closed", async () => {
    const source = new Source();
    source.isByHand = true;
    const stream = open(source);
    const seen: unknown[] = [];
    const over = new Promise((resolve) => stream.on("data", (page) => seen.push(page)).on("end", resolve));
    await turn();
    stream.close();
    source.give?.(["7", ["a"]]);
    await over;
    expect([seen, source.asked.length]).to.deep.equal([[["a"]], 1]);
  });

  it("fails with the error of its client", async () => {
    const source = new Source();
    source.isByHand = true;
    const stream = open(source);
    const reading = (async () => {
      for await (const _ of stream) void _;
    })();
    await turn();
    const error = new Error("no connection");
    source.refuse?.(error);
    expect(await failureOf(reading)).to.equal(error);
  });

  it("says nothing about a page that comes after it was destroyed", async () => {
    const source = new Source();
    source.isByHand = true;
    const stream = open(source);
    const told: string[] = [];
    for (const event of ["data", "end", "error"]) stream.on(event, () => told.push(event));
    await turn();
    stream.destroy();
    source.give?.(["0", ["a"]]);
    await turn();
    expect([told, stream.destroyed]).to.deep.equal([[], true]);
  });

  it("does not fail when a listener throws, whose error is the application's", async () => {
    const stream = open(new Source([["0", ["a"]]]));
    const failures: unknown[] = [];
    stream.on("error", (error) => failures.push(error));
    stream.on("data", () => {
      throw new Error("the listener broke");
    });
    const thrown = await uncaughtDuring(turn);
    expect([thrown, failures, stream.destroyed]).to.deep.equal([["the listener broke"], [], false]);
    stream.destroy();
  });
});
