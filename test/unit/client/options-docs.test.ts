import { expect } from "chai";
import { documentedOptions, isFresh } from "../../../scripts/options-docs/generate";
import { readInterface } from "../../../scripts/options-docs/option-comments";
import { defaultClusterOptions } from "../../../src/client/options/cluster-options";
import { defaultOptions } from "../../../src/client/options/redis-options";

/** Defaults that are described, not written as a value. */
const DESCRIBED = [
  "retryStrategy",
  "sentinelRetryStrategy",
  "sentinelReconnectStrategy",
  "watchdog",
  "clusterRetryStrategy",
  "keyPrefix",
  "resolveSrv",
  "dnsLookup",
];

describe("docs/options.md", () => {
  const documented = documentedOptions();
  const { ClusterOptions: cluster = [], ...single } = Object.fromEntries(documented);
  const redis = Object.values(single).flat();

  it("is fresh (npm run generate)", () => {
    expect(isFresh()).to.equal(true);
  });

  it("names every option that has a default", () => {
    const names = (entries: typeof redis): string[] => entries.map(({ name }) => name);
    expect(names(redis)).to.include.members(Object.keys(defaultOptions));
    expect(names(cluster)).to.include.members(Object.keys(defaultClusterOptions));
  });

  it("states the defaults that hold", () => {
    const check = (entries: typeof redis, defaults: object): number => {
      let compared = 0;
      for (const { name, defaultText } of entries) {
        const value = (defaults as Record<string, unknown>)[name];
        if (defaultText === null) expect(value, name).to.equal(undefined);
        else if (!DESCRIBED.includes(name) || typeof value === "string") {
          expect(value, name).to.deep.equal(JSON.parse(defaultText));
          compared++;
        }
      }
      return compared;
    };
    expect(check(redis, defaultOptions)).to.be.greaterThan(35);
    expect(check(cluster, defaultClusterOptions)).to.be.greaterThan(12);
  });
});

describe("readInterface", () => {
  const source = [
    "export interface Sample {",
    "  // --- First",
    "",
    "  /**",
    "   * What it does,",
    "   * in two lines.",
    "   * @unit ms",
    "   * @default 5",
    "   */",
    "  one?: number | undefined;",
    "",
    "  // --- Second",
    "",
    "  /** Short. */",
    "  readonly two?:",
    "    | string",
    "    | (() => void)",
    "    | undefined;",
    "  /** @deprecated Gone. */",
    "  three: boolean;",
    "}",
  ].join("\n");

  it("reads fields, groups and tags", () => {
    const plain = { unit: null, defaultText: null, isDeprecated: false };
    expect(readInterface(source, "Sample")).to.deep.equal([
      {
        title: "First",
        entries: [
          {
            ...plain,
            name: "one",
            type: "number",
            effect: "What it does, in two lines.",
            unit: "ms",
            defaultText: "5",
          },
        ],
      },
      {
        title: "Second",
        entries: [
          { ...plain, name: "two", type: "string | (() => void)", effect: "Short." },
          { ...plain, name: "three", type: "boolean", effect: "Gone.", isDeprecated: true },
        ],
      },
    ]);
  });

  it("insists on comments", () => {
    expect(() => readInterface("export interface Sample {\n  one: number;\n}", "Sample")).to.throw(
      "no comment",
    );
    expect(() => readInterface("", "Sample")).to.throw("No interface");
  });
});
