/** The playground of the site: a browser has none of the modules of Node.js but those that are made for it. */

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "chai";
import { checkoutDirectory } from "../../scripts/servers/cache-directory";

interface Bundle {
  missingImports(): Promise<readonly string[]>;
}

describe("playground", function () {
  this.timeout(60_000);

  it("imports no module of Node.js, and no name of one, that a browser is not given", async () => {
    const file = join(checkoutDirectory(), "scripts", "site", "playground-bundle.mjs");
    const { missingImports } = (await import(pathToFileURL(file).href)) as Bundle;
    expect(await missingImports()).to.deep.equal([]);
  });
});
