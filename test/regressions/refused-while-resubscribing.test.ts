/** A name that the server refuses after a reconnect must not end the other subscriptions of its kind. */

import { expect } from "chai";
import { ReplyError } from "../../src/index";
import { matrix } from "../support/matrix";

const USER = "subscriber";
const CHANNELS = ["a", "b", "c", "d", "e"];
const PATTERNS = ["p*", "q*", "r*"];
const SETTINGS = { replyMappings: ["legacy"], autoPipelining: [false] } as const;

describe("subscriptions that a server refuses after a reconnect", () => {
  matrix("are ended and reported one by one", SETTINGS, async ({ redis, connect }) => {
    const allow = (...names: string[]) =>
      redis.acl(
        "SETUSER",
        USER,
        "on",
        "nopass",
        "+@all",
        "resetchannels",
        ...names.map((name) => `&${name}`),
      );
    await allow(...CHANNELS, ...PATTERNS);
    const subscriber = connect({ username: USER, password: "any" });
    const refused: string[] = [];
    subscriber.on("error", (error) => {
      if (error instanceof ReplyError) refused.push(`${error.message.split(" ")[0]} ${error.command?.args}`);
    });
    await subscriber.subscribe(...CHANNELS);
    await subscriber.psubscribe(...PATTERNS);

    // The server disconnects subscribers of names that their user has lost.
    const gap = new Promise((resolve) => subscriber.once("gap", resolve));
    await allow("a", "c", "d", "q*", "r*");
    const kept = { channels: ["a", "c", "d"], patterns: ["q*", "r*"], shardChannels: [] };
    expect(await gap).to.deep.include(kept);
    expect(refused.sort()).to.deep.equal(["NOPERM b", "NOPERM e", "NOPERM p*"]);
    for (const name of ["a", "c", "d", "q*", "r*"]) expect(await redis.publish(name, "")).to.equal(1, name);
    for (const name of ["b", "e", "p*"]) expect(await redis.publish(name, "")).to.equal(0, name);

    await subscriber.quit();
    await redis.acl("DELUSER", USER);
  });
});
