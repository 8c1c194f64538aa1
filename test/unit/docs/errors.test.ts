/** docs/errors.md: every class and code of the source with a link to what to do, and every error without a code. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { errorEntries, isFresh } from "../../../scripts/errors-docs/generate";
import { checkoutDirectory } from "../../../scripts/servers/cache-directory";

const root = checkoutDirectory();
const page = readFileSync(join(root, "docs/errors.md"), "utf8");

/** Nobody outside of the client ever sees these. */
const INSIDE = [
  "withdrawn",
  "A link cannot go from ",
  // The cause of an ArgumentError.
  "JSON.stringify() returns undefined",
];
const BASE = "SluiceError";

function sources(): string[] {
  return readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => readFileSync(join(root, "src", path), "utf8"));
}

/** The first words of the messages of errors that have no class of their own. */
function plainMessages(): string[] {
  const found: string[] = [];
  for (const source of sources()) {
    for (const [, message = ""] of source.matchAll(/new (?:Error|TypeError|RangeError)\(\s*["`]([^"`$]+)/g)) {
      found.push(message);
    }
    for (const [, message = ""] of source.matchAll(/\breport\(\s*`([^`$]+)/g)) found.push(message);
  }
  return found;
}

/** The cells of all rows of the tables, heads left out. */
function rows(): string[][] {
  const cells = page
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .map((line) =>
      line
        .slice(1, -1)
        .split(" | ")
        .map((cell) => cell.replace(/^\||\|$/g, "").trim()),
    );
  return cells.filter(([first]) => /^\[?`/.test(first ?? ""));
}

describe("docs/errors.md", () => {
  const classes = errorEntries();
  const messages = plainMessages();
  const table = rows();

  it("finds the classes and the messages of the source", () => {
    expect(classes.length).to.be.greaterThan(40);
    expect(classes.find(({ className }) => className === "WatchLostError")).to.include({
      code: "WATCH_LOST",
    });
    const declared = sources().flatMap((text) => [...text.matchAll(/export class (\w+Error) /g)]);
    expect(classes.map(({ className }) => className)).to.have.members(declared.map(([, name]) => name));
    expect(messages.length).to.be.greaterThan(15);
    expect(table.length).to.be.greaterThan(45);
  });

  for (const { className, code, advice } of classes.filter((one) => one.className !== BASE)) {
    it(`${className} has a row that links its code, and says what to do`, () => {
      const row = table.find((cells) => new RegExp(`\\b${className}\\b`).test(cells[1] ?? ""));
      expect(row, "a row").to.not.equal(undefined);
      expect(row?.[0]).to.equal(`[\`${code}\`](troubleshooting.md#${code})`);
      expect(row).to.have.length(3);
      expect(advice, "what to do").to.match(/\w{3}/);
    });
  }

  for (const message of messages.filter((one) => !INSIDE.includes(one))) {
    it(`"${message.trim()}" is listed`, () => {
      const listed = table.flatMap(([first = ""]) =>
        [...first.matchAll(/`([^`]+)`/g)].map(([, text]) => String(text)),
      );
      expect(listed.some((start) => message.startsWith(start) || start.startsWith(message.trim()))).to.equal(
        true,
      );
    });
  }

  it("is fresh (npm run generate)", () => {
    expect(isFresh()).to.equal(true);
  });

  it("lists no code and no class that does not exist", () => {
    const codes = new Set(classes.map(({ code }) => code));
    const names = new Set(classes.map(({ className }) => className));
    for (const cells of table.filter(([first = ""]) => first.startsWith("["))) {
      for (const [, code] of (cells[0] ?? "").matchAll(/`([^`]+)`/g)) expect(codes, code).to.include(code);
      for (const name of (cells[1] ?? "").split(", ")) expect(names, name).to.include(name);
    }
  });
});
