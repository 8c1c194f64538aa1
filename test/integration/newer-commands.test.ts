/** Commands that are newer than the API are methods too, on clients, in pipelines and with Buffers. */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import { additionalCommandNames } from "../../src/command/command-table";
import { Redis } from "../../src/index";
import { matrix } from "../support/matrix";

describe("commands newer than the API", () => {
  it("are methods of clients and pipelines, all of them", () => {
    const redis = new Redis({ lazyConnect: true });
    const newer = additionalCommandNames.filter((name) => name !== "monitor");
    expect(newer).to.include.members(["clusterscan", "commandlog", "delifeq"]);
    for (const target of [redis, redis.pipeline(), redis.multi()]) {
      for (const name of newer) {
        expect(target).to.have.property(name).that.is.a("function");
        expect(target).to.have.property(`${name}Buffer`).that.is.a("function");
      }
    }
    redis.disconnect();
  });

  matrix("work where the server has them", { servers: [ServerKind.Valkey] }, async ({ redis }) => {
    await redis.set("newer:a", "1");
    expect(await redis.delifeq("newer:a", "2")).to.equal(0);
    expect(await redis.delifeq("newer:a", "1")).to.equal(1);
    expect(await redis.commandlog("LEN", "SLOW")).to.be.a("number");
    expect(
      await redis.pipeline().commandlog("RESET", "SLOW").delifeqBuffer("newer:a", "1").exec(),
    ).to.deep.equal([
      [null, "OK"],
      [null, 0],
    ]);
  });
});
