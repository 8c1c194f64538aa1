/** testing/docs/testing-commands.md says what the test server supports now. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { checkoutDirectory } from "../../scripts/servers/cache-directory";
import { commandsPage } from "../../scripts/testing-docs/generate";

describe("testing/docs/testing-commands.md", () => {
  it("is fresh (npm run generate)", () => {
    const page = readFileSync(join(checkoutDirectory(), "testing", "docs", "testing-commands.md"), "utf8");
    expect(page).to.equal(commandsPage());
  });
});
