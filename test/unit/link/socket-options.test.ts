/** The settings of TLS: fixed ones, those of a function, and what is no setting. */

import { expect } from "chai";
import { OptionError } from "../../../src/errors";
import { type SocketOptions, tlsSettings, withServerName } from "../../../src/link/socket-options";
import { openSocket } from "../../../src/link/tcp-connector";

describe("tlsSettings", () => {
  const settings = { servername: "h" };

  it("are those of the option, or of its function for each socket", () => {
    for (const tls of [undefined, null, false]) expect(tlsSettings({ tls })).to.equal(null);
    expect(tlsSettings({ tls: true })).to.deep.equal({});
    expect(tlsSettings({ tls: settings })).to.equal(settings);
    let calls = 0;
    const tls = (): object => {
      calls++;
      return settings;
    };
    expect([tlsSettings({ tls }), tlsSettings({ tls }), calls]).to.deep.equal([settings, settings, 2]);
  });

  it("are not what a function returns that is no object, or a promise", () => {
    for (const returned of [undefined, null, "h", Promise.resolve(settings)]) {
      const tls = (() => returned) as unknown as SocketOptions["tls"];
      expect(() => tlsSettings({ tls })).to.throw(OptionError, "not a promise");
    }
  });

  it("keep a server name of their own", () => {
    const named = (tls: SocketOptions["tls"]): unknown => {
      const made = withServerName(tls, "default");
      return typeof made === "function" ? made() : made;
    };
    expect([named(null), named(true)]).to.deep.equal([null, { servername: "default" }]);
    expect([named({}), named(() => ({}))]).to.deep.equal([
      { servername: "default" },
      { servername: "default" },
    ]);
    expect([named(settings), named(() => settings)]).to.deep.equal([settings, settings]);
  });
});

describe("openSocket", () => {
  const target = { host: "127.0.0.1", port: 1 };

  it("throws what is wrong with fixed TLS settings", () => {
    expect(() => openSocket({ ...target, tls: { minVersion: "none" as never } })).to.throw(Error);
  });

  it("returns a socket that has failed with the error of a function: the next attempt calls it again", async () => {
    const error = new Error("no certificate yet");
    const tls = (): never => {
      throw error;
    };
    const socket = openSocket({ ...target, tls });
    expect([socket.destroyed, socket.errored]).to.deep.equal([true, error]);
    await new Promise((resolve) => setImmediate(resolve));
  });
});
