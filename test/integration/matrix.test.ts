/** The test support itself: combinations, clean servers, clients that are closed behind a test. */

import { expect } from "chai";
import { matrix } from "../support/matrix";

describe("matrix", () => {
  matrix("gives an empty server and a ready client", {}, async ({ redis, server }) => {
    expect(redis.status).to.equal("ready");
    expect(await server.command("DBSIZE")).to.equal(0);
    await server.command("SET", "left", "behind");
  });

  matrix("opens further clients of the same combination", { protocols: [3] }, async ({ connect }) => {
    const other = connect({ connectionName: "other" });
    expect(other.options.protocol).to.equal(3);
    expect(other.options.connectionName).to.equal("other");
  });
});
