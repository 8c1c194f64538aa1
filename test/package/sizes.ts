/**
 * The sizes of the package, in one place. A measured size may exceed its entry by 10 %, and a size that a page names may
 * be off by 10 %, so a change of a few kilobytes edits neither this table nor a page.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { checkoutDirectory } from "../../scripts/servers/cache-directory";

const SLACK = 0.1;
const KB = 1000;
const MB = 1_000_000;
const KIB = 1024;
const BUNDLER_PAGE = "decisions/0012-bundler.md";
const PLATFORMS_PAGE = "platforms.md";

export interface Size {
  readonly bytes: number;
  /** The places in docs/ that name the size, which the group of the pattern captures. */
  readonly named?: readonly { readonly page: string; readonly pattern: RegExp; readonly unit: number }[];
}

export const SIZES = {
  /** All files of the package, unpacked. The entry is the goal. */
  unpacked: {
    bytes: 2.5 * MB,
    named: [
      { page: BUNDLER_PAGE, pattern: /The package unpacks to ([\d.]+) MB/, unit: MB },
      { page: PLATFORMS_PAGE, pattern: /The package alone unpacks to ([\d.]+) MB/, unit: MB },
    ],
  },
  /** Code of the client, without declarations and source maps. */
  client: {
    bytes: 820 * KIB,
    named: [{ page: BUNDLER_PAGE, pattern: /code of the client is (\d+) KiB/, unit: KIB }],
  },
  /** The same code as ES modules, minified. */
  modules: { bytes: 484 * KIB },
  /** The pages of docs/ that the package contains. */
  documentation: { bytes: 334 * KIB },
  /** Code of sluice-testing. */
  kit: { bytes: 483 * KIB },
  /** OpenTelemetry and the migration tool, which the client does not load. */
  aside: { bytes: 83 * KIB },
  /** `import { Redis } from "sluice"`, bundled, minified and compressed. */
  bundled: {
    bytes: 73 * KB,
    named: [
      { page: BUNDLER_PAGE, pattern: /`import { Redis }` has (\d+) kB/, unit: KB },
      { page: PLATFORMS_PAGE, pattern: /`import { Redis }` \| \d+ \| (\d+)/, unit: KB },
    ],
  },
  /** `import Redis from "sluice"`, bundled, minified and compressed. */
  bundledDefault: {
    bytes: 154 * KB,
    named: [
      { page: BUNDLER_PAGE, pattern: /`import Redis` has (\d+) kB/, unit: KB },
      { page: PLATFORMS_PAGE, pattern: /default import \| \d+ \| (\d+)/, unit: KB },
    ],
  },
} as const satisfies Record<string, Size>;

export function expectAtMost(bytes: number, size: Size): void {
  expect(bytes).to.be.within(1, size.bytes * (1 + SLACK));
}

/** Each page that names the size names the measured one. */
export function expectNamed({ named = [] }: Size, bytes: number): void {
  for (const { page, pattern, unit } of named) {
    const [, figure] = pattern.exec(readFileSync(join(checkoutDirectory(), "docs", page), "utf8")) ?? [];
    expect(Number(figure) * unit, `docs/${page}: ${pattern}`).to.be.closeTo(bytes, bytes * SLACK);
  }
}
