/** Addresses of nodes as redirects and tables give them: nothing that is none gets through. */

import { expect } from "chai";
import { hostOr, NO_NAME, nodeKey, parseAddress } from "../../../src/cluster/node-address";

const SENDER = { host: "sender", port: 7000 };

describe("the address of a node", () => {
  it("is its name, in full", () => {
    expect([nodeKey(SENDER), nodeKey({ host: "::1", port: 1 })]).to.deep.equal(["sender:7000", "::1:1"]);
  });

  it("is read from a redirect; without a host it is that of the sender", () => {
    for (const [text, host, port] of [
      ["h:1", "h", 1],
      ["10.0.0.1:65535", "10.0.0.1", 65_535],
      [":6379", "sender", 6379],
      ["::1:6379", "::1", 6379],
      ["[fe80::1%eth0]:6379", "fe80::1%eth0", 6379],
    ] as const)
      expect(parseAddress(text, SENDER), text).to.deep.equal({ host, port });
  });

  it("is refused where host or port is none", () => {
    for (const text of [
      "",
      "h",
      "h:",
      "h:0",
      "h:65536",
      "h:x",
      "h:1 ",
      "a b:1",
      "?:1",
      "[:1",
      "[]:1",
      "h/x:1",
      `${"h".repeat(256)}:1`,
    ])
      expect(parseAddress(text, SENDER), text).to.equal(null);
  });

  it("has the host of the sender where none is named, and none for what is no host", () => {
    for (const none of [null, undefined, ""]) expect(hostOr(none, SENDER)).to.equal("sender");
    for (const wrong of [NO_NAME, 5, {}, "a b", Buffer.from("h")])
      expect(hostOr(wrong, SENDER)).to.equal(null);
    expect([hostOr("h", SENDER), hostOr("[::1]", SENDER)]).to.deep.equal(["h", "::1"]);
  });
});
