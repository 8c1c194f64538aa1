/** One attempt to reach a server, in virtual time: the dial, the handshake, the limit of both, a server that loads its data. */

import { PassThrough } from "node:stream";
import { expect } from "chai";
import sinon from "sinon";
import type { Connection } from "../../../src/connection/connection";
import { ConnectionState } from "../../../src/connection/connection-state";
import type { ServerInfo } from "../../../src/connection/server-info";
import type { Establishment } from "../../../src/link/establishment";
import type { LinkOptions } from "../../../src/link/link-options";
import { hintOf } from "../../../src/util/error-hint";
import { ModelConnection } from "../../support/model-connection";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";

const LOADING = "loading:1\r\nloading_eta_seconds:3\r\n";
const LOADED = "loading:0\r\nrun_id:abc\r\n";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("Establishment", () => {
  let home: InVirtualTime<
    typeof import("../../../src/link/establishment") &
      typeof import("../../../src/errors") &
      typeof import("../../../src/util/error-hint")
  >;
  let connection: ModelConnection;
  let told: unknown[][];
  let dial: () => Promise<unknown>;
  let credentials: () => object | null | Promise<object>;
  /** Commands that were sent behind the handshake. */
  /** The credentials of each handshake behind which commands could be sent. */
  let followers: number;
  let sentWith: unknown[];

  before(() => {
    home = inVirtualTime(() => ({
      ...require("../../../src/link/establishment"),
      ...require("../../../src/errors"),
      ...require("../../../src/util/error-hint"),
    }));
  });

  beforeEach(() => {
    home.time.reset();
    connection = new ModelConnection();
    told = [];
    followers = 0;
    sentWith = [];
    credentials = () => ({ password: "pw" });
  });

  function attempt(options: LinkOptions = {}): Establishment {
    const connector = { connect: () => dial(), firstError: new Error("first") };
    const source = { credentials: () => credentials() };
    const owner = {
      onUnreachable: (...words: unknown[]) => void told.push(["unreachable", ...words]),
      onNamedError: (...words: unknown[]) => void told.push(["named", ...words]),
      current: {
        early: Array.from({ length: followers }),
        sendEarly: (used: unknown) => void sentWith.push(used),
        withdraw: () => {},
      },
      onEstablished: (...words: unknown[]) => void told.push(["established", ...words]),
      onRefused: (...words: unknown[]) => void told.push(["refused", ...words]),
    };
    return new home.modules.Establishment(
      connection.asConnection,
      {
        options: { protocol: 2, disableClientInfo: true, ...options },
        connector: connector as never,
        source: source as never,
        isLoginRefused: false,
      },
      owner as never,
    );
  }

  /** With its socket, about to introduce itself. */
  async function dialled(options: LinkOptions = {}, socket = new PassThrough()): Promise<Establishment> {
    dial = async () => socket;
    const made = attempt(options);
    made.start();
    await turn();
    expect(connection.socket).to.equal(socket);
    return made;
  }

  const message = (): string => String(told[0]?.at(-1));

  it("gives the connection its socket, with the first error of the connector", async () => {
    await dialled();
    expect(connection.firstError?.message).to.equal("first");
    expect(told).to.deep.equal([]);
  });

  it("tells once that the connector found no way, whatever it threw", async () => {
    for (const thrown of [new Error("no way"), "no error"]) {
      told = [];
      dial = () => Promise.reject(thrown);
      attempt().start();
      await turn();
      expect(told.map(([word]) => word)).to.deep.equal(["unreachable"]);
      expect(told[0]?.[1]).to.be.instanceOf(Error);
      expect(message()).to.contain(thrown instanceof Error ? "no way" : "is not an Error");
    }
  });

  it("says what a connector has to give", async () => {
    for (const given of [undefined, {}, { on: () => {} }]) {
      told = [];
      dial = async () => given;
      attempt().start();
      await turn();
      expect(told.map(([word]) => word)).to.deep.equal(["unreachable"]);
      expect(message()).to.contain("must resolve with a Duplex stream");
    }
  });

  it("closes a socket that comes after its end, and says nothing about a dial that fails then", async () => {
    const socket = new PassThrough();
    for (const late of [() => Promise.resolve(socket), () => Promise.reject(new Error("late"))]) {
      dial = late;
      const made = attempt();
      made.start();
      made.stop();
      await turn();
    }
    expect(connection.socket).to.equal(null);
    expect(socket.destroyed).to.equal(true);
    expect(() => socket.emit("error", new Error("late"))).to.not.throw();
    expect(told).to.deep.equal([]);
  });

  it("is established with what INFO says and the credentials it has used", async () => {
    const made = await dialled({ enableReadyCheck: true });
    const over = made.introduce([2]);
    await turn();
    expect([connection.answer("OK"), connection.answer("OK"), connection.answer(LOADED)]).to.deep.equal([
      "auth pw",
      "select 2",
      "info",
    ]);
    await over;
    expect(told.map(([word]) => word)).to.deep.equal(["established"]);
    expect((told[0]?.[1] as ServerInfo | undefined)?.fields["run_id"]).to.equal("abc");
    expect(told[0]?.[2]).to.deep.equal({ password: "pw" });
    expect(home.time.pending, "timers").to.equal(0);
  });

  it("asks for credentials while it connects, not afterwards", async () => {
    let asked = 0;
    credentials = () => Promise.resolve({ password: `pw${++asked}` });
    dial = () => new Promise(() => {});
    const made = attempt();
    made.start();
    expect(asked).to.equal(1);
    made.stop();
  });

  it("leaves a failure of the source to the handshake, however long the dial takes", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    const others = process.listeners("unhandledRejection");
    process.removeAllListeners("unhandledRejection");
    process.on("unhandledRejection", note);
    try {
      credentials = () => Promise.reject(new Error("the vault is shut"));
      dial = () => new Promise(() => {});
      const made = attempt();
      made.start();
      for (let i = 0; i < 3; i++) await turn();
      made.stop();
    } finally {
      process.off("unhandledRejection", note);
      for (const one of others) process.on("unhandledRejection", one);
    }
    expect(unhandled).to.deep.equal([]);
  });

  it("lets commands follow its handshake, with the credentials of that, unless it is over", async () => {
    const made = await dialled();
    await Promise.all([made.introduce([0]), turn()]);
    expect(sentWith).to.deep.equal([{ password: "pw" }]);
    made.stop();
    const other = await dialled();
    other.stop();
    await other.introduce([0]);
    expect(sentWith).to.have.length(1);
  });

  it("is refused when the server says so, and when the source of credentials fails", async () => {
    const made = await dialled();
    const over = made.introduce([0]);
    await turn();
    connection.answer("-WRONGPASS invalid username-password pair");
    await over;
    const [[word, error, isTransient]] = told as [[string, Error & { hint?: string }, boolean]];
    expect([word, isTransient]).to.deep.equal(["refused", false]);
    expect(error.message).to.equal("WRONGPASS invalid username-password pair");
    expect(error.hint).to.contain("`username` and `password`");
    told = [];
    credentials = () => Promise.reject(new Error("the vault is shut"));
    await (await dialled()).introduce([0]);
    expect(told.map(([first, , last]) => [first, last])).to.deep.equal([["refused", true]]);
    expect(String(told[0]?.[1])).to.equal("Error: the vault is shut");
    expect(home.time.pending, "timers").to.equal(0);
  });

  it("asks a server that loads its data again until it is done, with a time limit for each answer", async () => {
    credentials = () => ({});
    const made = await dialled({ enableReadyCheck: true, connectTimeout: 1000 });
    const over = made.introduce([0]);
    await turn();
    connection.answer(LOADING);
    await over;
    await home.pass(2999);
    expect(connection.asked.length).to.equal(0);
    await home.pass(1);
    expect(connection.answer(LOADING)).to.equal("info");
    await turn();
    await home.pass(3000);
    expect(connection.answer(LOADED)).to.equal("info");
    await home.pass(1);
    expect(told.map(([word]) => word)).to.deep.equal(["established"]);
    expect((connection as unknown as Connection).serverRunId, "noted").to.equal("abc");
    expect(connection.ends).to.deep.equal([]);
    expect(home.time.pending, "timers").to.equal(0);
  });

  it("gives up a server that was loading and then says nothing", async () => {
    credentials = () => ({});
    const made = await dialled({ enableReadyCheck: true, connectTimeout: 1000 });
    void made.introduce([0]);
    await turn();
    connection.answer(LOADING);
    await turn();
    await home.pass(3000);
    expect(connection.ends.length).to.equal(0);
    await turn();
    await home.pass(1000);
    expect(connection.ends.map((error) => (error as { code?: string })?.code)).to.deep.equal(["ETIMEDOUT"]);
  });

  it("waits no longer than its limit from the socket on, not from the dial", async () => {
    const socket = new PassThrough();
    dial = async () => {
      await new Promise<void>((resolve) => void home.time.after(5000, resolve));
      return socket;
    };
    attempt({ connectTimeout: 1000 }).start();
    await home.pass(5000);
    expect(connection.ends).to.deep.equal([]);
    await home.pass(999);
    expect(connection.ends).to.deep.equal([]);
    await home.pass(1);
    expect(connection.ends.length).to.equal(1);
  });

  it("has no limit when the option says none", async () => {
    await dialled({ connectTimeout: 0 });
    expect(home.time.pending).to.equal(0);
  });

  it("says what a silence means by how far it had come", async () => {
    const tls = Object.assign(new PassThrough(), { encrypted: true, connecting: false });
    const dialling = Object.assign(new PassThrough(), { encrypted: true, connecting: true });
    const plain = Object.assign(new PassThrough(), { connecting: false });
    const said: (string | undefined)[] = [];
    for (const [state, socket] of [
      [ConnectionState.Dialing, new PassThrough()],
      [ConnectionState.Dialing, tls],
      [ConnectionState.Handshaking, new PassThrough()],
      [ConnectionState.Dialing, dialling],
      [ConnectionState.Dialing, plain],
    ] as const) {
      connection = new ModelConnection();
      connection.state = state;
      await dialled({ connectTimeout: 10 }, socket);
      await home.pass(10);
      expect(connection.ends[0]?.message).to.equal("connect ETIMEDOUT");
      said.push(hintOf(connection.ends[0]));
    }
    expect(said[0]).to.equal(undefined);
    expect(said[1]).to.contain("TLS handshake did not complete");
    expect(said[2]).to.contain("did not answer the handshake");
    expect(said[3]).to.contain("Nothing answers at this address");
    expect(said[4]).to.equal(undefined);
  });

  it("says nothing more once it was stopped", async () => {
    const made = await dialled({ enableReadyCheck: true, connectTimeout: 1000 });
    const over = made.introduce([0]);
    await turn();
    made.stop();
    while (connection.asked.length > 0) connection.answer(LOADED);
    await over;
    await home.pass(2000);
    expect(told).to.deep.equal([]);
    expect(connection.ends).to.deep.equal([]);
  });

  it("sets the socket as the options say, if it can be set", async () => {
    const setNoDelay = sinon.spy();
    const setKeepAlive = sinon.spy();
    const socket = Object.assign(new PassThrough(), { setNoDelay, setKeepAlive });
    credentials = () => ({});
    await (await dialled({ noDelay: true, keepAlive: 0 }, socket)).introduce([0]);
    expect(setNoDelay.args).to.deep.equal([[true]]);
    expect(setKeepAlive.args).to.deep.equal([[true, 0]]);
    await (await dialled({}, socket)).introduce([0]);
    expect([setNoDelay.callCount, setKeepAlive.callCount]).to.deep.equal([1, 1]);
    await (await dialled({ noDelay: true, keepAlive: 5 })).introduce([0]);
    expect(told.map(([word]) => word)).to.deep.equal(["established", "established", "established"]);
  });

  it("explains errors of a connection that was greeting, and of TLS, and no others", () => {
    const { explainTrouble } = home.modules;
    const greeting = { state: ConnectionState.Handshaking, bytesRead: 0 } as Connection;
    const cut = (): Error => Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    expect(hintOf(explainTrouble(cut(), greeting, undefined))).to.contain("before its first reply");
    const heard = { state: ConnectionState.Handshaking, bytesRead: 5 } as Connection;
    expect(hintOf(explainTrouble(cut(), heard, undefined))).to.equal(undefined);
    const { ParserError, isCertain } = home.modules;
    const strange = explainTrouble(new ParserError("Unknown RESP type 72 (H)"), heard, undefined);
    expect(hintOf(strange)).to.contain("HTTP server");
    expect(isCertain(strange), "another attempt finds the same server").to.equal(true);
    const broken = explainTrouble(new ParserError("a length below zero"), heard, undefined);
    expect([hintOf(broken), isCertain(broken)]).to.deep.equal([undefined, false]);
    const ready = { state: ConnectionState.Ready, bytesRead: 0 } as Connection;
    for (const one of [ready, null])
      expect(hintOf(explainTrouble(cut(), one, undefined))).to.equal(undefined);
    const foreign = Object.assign(new Error("wrong version number"), {
      code: "ERR_SSL_WRONG_VERSION_NUMBER",
    });
    expect(hintOf(explainTrouble(foreign, ready, {}))).to.contain("does not speak TLS at this port");
    const untrusted = (): Error =>
      Object.assign(new Error("self-signed certificate"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
    expect(isCertain(explainTrouble(untrusted(), null, {})), "another attempt gets the same").to.equal(true);
    const renewing = explainTrouble(untrusted(), null, () => ({}));
    expect(isCertain(renewing), "the next attempt may have another authority").to.equal(false);
  });

  it("reports a fieldset that the server refuses, and is established nevertheless", async () => {
    const made = await dialled({ himportFieldsets: [{ name: "f", fields: ["a"] }] as never });
    const over = made.introduce([0]);
    await turn();
    connection.answer("OK");
    connection.answer("-ERR unknown command 'HIMPORT'");
    await over;
    expect(told.map(([word]) => word)).to.deep.equal(["named", "established"]);
    expect(told[0]?.[1]).to.equal("error");
  });

  it("does not wait for its number with RESP2 while commands follow the handshake", async () => {
    for (followers of [0, 1, 2]) {
      told = [];
      connection = new ModelConnection();
      credentials = () => ({});
      const made = await dialled({ protocol: 3, disableClientInfo: false });
      const over = made.introduce([0]);
      await turn();
      connection.answer("-ERR unknown command 'HELLO'");
      while (connection.asked.length > 1) connection.answer("OK");
      await over;
      expect(told.length, `${followers} commands`).to.equal(followers === 0 ? 0 : 1);
      expect(connection.answer(7)).to.equal("client ID");
      expect(told.map(([word]) => word)).to.deep.equal(["established"]);
    }
  });

  it("logs in once more with new credentials of a function, and not for other refusals", async () => {
    const isTransientAfter = async (
      answer: string,
      given: () => object | Promise<object>,
    ): Promise<unknown> => {
      told = [];
      connection = new ModelConnection();
      credentials = given;
      const made = await dialled({ enableReadyCheck: true });
      const over = made.introduce([0]);
      await turn();
      if (answer.startsWith("-NOAUTH")) connection.answer("OK");
      connection.answer(answer);
      while (connection.asked.length > 0) connection.answer("OK");
      await over;
      return told[0]?.[2];
    };
    const refusal = "-WRONGPASS invalid username-password pair";
    expect(await isTransientAfter(refusal, async () => ({ password: "old" }))).to.equal(true);
    expect(await isTransientAfter(refusal, () => ({ password: "old" })), "fixed ones").to.equal(false);
    expect(await isTransientAfter("-NOAUTH required", async () => ({ password: "old" })), "INFO").to.equal(
      false,
    );
  });
});
