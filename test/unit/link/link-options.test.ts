/** The address of a server in messages. */

import { expect } from "chai";
import { serverOf } from "../../../src/link/link-options";

describe("serverOf", () => {
  it("names the server of the options, whichever was named before", () => {
    const servers = [
      { host: "a", port: 1 },
      { host: "a", port: 2 },
      { host: "b", port: 2 },
      { host: "b", port: 2 },
      { path: "/tmp/socket", host: "b", port: 2 },
      { host: "a", port: 1 },
    ];
    expect(servers.map(serverOf)).to.deep.equal(["a:1", "a:2", "b:2", "b:2", "/tmp/socket", "a:1"]);
  });
});
