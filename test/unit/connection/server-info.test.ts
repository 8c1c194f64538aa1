import { expect } from "chai";
import { ServerInfo } from "../../../src/connection/server-info";

describe("ServerInfo", () => {
  const info = new ServerInfo(
    "# Server\r\nredis_version:7.0.15\r\nexecutable:/a:b\r\nio_version:1\r\n\r\n# End\r\nlast:é",
  );

  it("finds whole names only", () => {
    const names = ["redis_version", "executable", "io_version", "last", "version", "missing"];
    expect(names.map((name) => info.fields[name])).to.deep.equal([
      "7.0.15",
      "/a:b",
      "1",
      "é",
      undefined,
      undefined,
    ]);
  });

  it("finds the first line", () => {
    expect(new ServerInfo("role:master").fields["role"]).to.equal("master");
    expect(new ServerInfo("").fields["role"]).to.equal(undefined);
  });

  it("gives what is to be kept as well", () => {
    expect([info.kept("redis_version"), info.kept("last"), info.kept("missing")]).to.deep.equal([
      "7.0.15",
      "é",
      undefined,
    ]);
  });

  it("lists all fields", () => {
    expect({ ...info.fields }).to.deep.equal({
      redis_version: "7.0.15",
      executable: "/a:b",
      io_version: "1",
      last: "é",
    });
  });
});
