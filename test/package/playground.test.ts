/** The playground of the site: a browser has none of the modules of Node.js but those that are made for it. */

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "chai";
import { checkoutDirectory } from "../../scripts/servers/cache-directory";

interface Bundle {
  missingModules(): Promise<readonly string[]>;
}

describe("playground", function () {
  this.timeout(60_000);

  it("imports no module of Node.js that a browser is not given", async () => {
    const file = join(checkoutDirectory(), "scripts", "site", "playground-bundle.mjs");
    const { missingModules } = (await import(pathToFileURL(file).href)) as Bundle;
    expect(await missingModules()).to.deep.equal([]);
  });
});
