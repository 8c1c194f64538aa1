/** Which product and version a binary reports; the programs print what real servers print. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { temporaryDirectory } from "../../scripts/servers/temporary-directory";
import { describeBinary } from "../src/real/server-binary";

describe("a server binary", () => {
  function program(output: string): string {
    const path = join(temporaryDirectory(), "server");
    writeFileSync(path, `#!/bin/sh\necho '${output}'\n`, { mode: 0o755 });
    return path;
  }

  for (const [output, product, version] of [
    ["Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=1", "Redis", "7.0.15"],
    ["Valkey server v=9.1.0 sha=00000000:0 malloc=libc bits=64 build=1", "Valkey", "9.1.0"],
    ["Server v=7.2.14 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=1", "Valkey", "7.2.14"],
  ] as const) {
    it(`is recognized as ${product} ${version}`, async () => {
      expect(await describeBinary(program(output), "here")).to.include({ product, version, source: "here" });
    });
  }

  it("of another kind is refused with its answer", async () => {
    const path = program("PONG");
    const error = await describeBinary(path, "here").catch((reason: Error) => reason);
    expect(error).to.be.instanceOf(Error);
    expect((error as Error).message).to.equal(`${path} does not answer like a Redis or Valkey server: PONG`);
  });
});
