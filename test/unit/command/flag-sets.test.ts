import { expect } from "chai";
import { flagSets, isInFlagSet } from "../../../src/command/flag-sets";

const EXPECTED = {
  VALID_IN_SUBSCRIBER_MODE: "ping psubscribe punsubscribe quit ssubscribe subscribe sunsubscribe unsubscribe",
  VALID_IN_MONITOR_MODE: "auth monitor",
  ENTER_SUBSCRIBER_MODE: "psubscribe ssubscribe subscribe",
  EXIT_SUBSCRIBER_MODE: "punsubscribe sunsubscribe unsubscribe",
  WILL_DISCONNECT: "quit",
  HANDSHAKE_COMMANDS: "auth client hello info readonly select",
  IGNORE_RECONNECT_ON_ERROR: "client",
  BLOCKING_COMMANDS: "blmove blmovem blmpop blpop brpop brpoplpush bzmpop bzpopmax bzpopmin xread xreadgroup",
  LAST_ARG_TIMEOUT_COMMANDS: "blmove blpop brpop brpoplpush bzpopmax bzpopmin",
  FIRST_ARG_TIMEOUT_COMMANDS: "blmpop bzmpop",
  BLOCK_OPTION_COMMANDS: "xread xreadgroup",
};

describe("flag sets", () => {
  it("are the lists of the API", () => {
    const sets = flagSets();
    const found = Object.fromEntries(Object.entries(sets).map(([name, words]) => [name, words.join(" ")]));
    expect(found).to.deep.equal(EXPECTED);
  });

  it("know a command in any letter case", () => {
    expect(isInFlagSet("BLOCKING_COMMANDS", "BLpop")).to.equal(true);
    expect(isInFlagSet("BLOCKING_COMMANDS", "get")).to.equal(false);
    expect(isInFlagSet("BLOCKING_COMMANDS", "constructor")).to.equal(false);
  });

  it("know no list that is not there", () => {
    expect(isInFlagSet("toString" as "WILL_DISCONNECT", "quit")).to.equal(false);
  });
});
