/** What the replies to a handshake mean: harmless refusals, the identity of the server, data that is being loaded. */

import { expect } from "chai";
import sinon from "sinon";
import {
  Handshake,
  type HandshakeListener,
  type HandshakeOptions,
  type HandshakeOutcome,
  judgeInfo,
} from "../../../src/connection/handshake";
import { ReplyError } from "../../../src/errors";
import { hintOf } from "../../../src/util/error-hint";
import { NAME, VERSION } from "../../../src/util/version";
import { ModelConnection } from "../../support/model-connection";

class GreetedConnection extends ModelConnection {
  serverMode: string | null = null;
  serverVersion: string | null = null;
  serverRunId: string | null = null;
  readonly protocols: number[] = [];

  override setProtocol(...[protocol]: number[]): void {
    this.protocols.push(protocol as number);
  }
}

describe("a handshake", () => {
  let warn: sinon.SinonStub;
  let connection: GreetedConnection;
  let outcome: HandshakeOutcome | null;
  let told: string[];
  let isFollowed: boolean;

  beforeEach(() => {
    warn = sinon.stub(console, "warn");
    connection = new GreetedConnection();
    [outcome, told, isFollowed] = [null, [], false];
  });
  afterEach(() => {
    warn.restore();
    connection.destroy();
  });

  const warnings = (): string[] => warn.args.map(([text]) => String(text));

  /** Without the information about the client itself. */
  function begin(options: HandshakeOptions = {}, credentials = {}): void {
    const listener: HandshakeListener = {
      onError: (error) => void told.push(error.message),
      isFollowed: () => isFollowed,
      onSecondLogin: () => void told.push("second login"),
      onOutcome: (one) => {
        outcome = one;
      },
    };
    const introduction = { options: { disableClientInfo: true, ...options }, credentials, databases: [0] };
    new Handshake(connection.asConnection, introduction, listener).begin();
  }

  for (const [said, text] of [
    ["ERR Client sent AUTH, but no password is set", "does not require a password"],
    [
      "ERR AUTH <password> called without any password configured for the default user. Are you sure?",
      "`default` user",
    ],
    ["ERR wrong number of arguments for 'auth' command", "Redis version 5"],
  ] as const) {
    it(`is ready, with a warning, when the server needs no such login: ${said}`, () => {
      begin({ protocol: 2 }, { password: "pw" });
      expect(connection.answer(`-${said}`)).to.equal("auth pw");
      expect(outcome?.kind).to.equal("ready");
      expect(warnings()).to.have.length(1);
      expect(warnings()[0]).to.contain(text);
    });
  }

  it("has failed with any other refusal of the login", () => {
    begin({ protocol: 2 }, { username: "ann", password: "pw" });
    expect(connection.answer("-WRONGPASS invalid username-password pair")).to.equal("auth ann pw");
    expect(outcome).to.include({ kind: "failed", isTransient: false, isLogin: true });
    expect(warnings()).to.deep.equal([]);
  });

  it("warns of reply shapes that a server without RESP3 cannot send", () => {
    for (const [replyMapping, count] of [
      ["legacy", 0],
      ["resp3", 1],
    ] as const) {
      warn.resetHistory();
      begin({ replyMapping });
      connection.answer("-ERR unknown command 'HELLO'");
      expect(outcome?.kind).to.equal("ready");
      expect(connection.protocols.at(-1)).to.equal(2);
      expect(warnings(), replyMapping).to.have.length(count);
    }
  });

  it("logs in again when the server without RESP3 has not seen the credentials", () => {
    begin({}, { password: "pw" });
    expect(connection.answer("-NOPROTO unsupported protocol version")).to.equal("hello 3 AUTH default pw");
    expect([outcome, told]).to.deep.equal([null, ["second login"]]);
    expect(connection.answer("OK")).to.equal("auth pw");
    expect((outcome as HandshakeOutcome | null)?.kind).to.equal("ready");
  });

  it("asks for its number with RESP2, and does not let commands behind it wait for that", () => {
    for (isFollowed of [false, true]) {
      outcome = null;
      connection.clientId = null;
      begin({ disableClientInfo: false });
      connection.answer("-ERR unknown command 'HELLO'");
      while (connection.asked.length > 1) connection.answer("OK");
      expect((outcome as HandshakeOutcome | null)?.kind).to.equal(isFollowed ? "ready" : undefined);
      expect(connection.answer(17)).to.equal("client ID");
      expect((outcome as HandshakeOutcome | null)?.kind).to.equal("ready");
    }
  });

  it("takes the number of the connection from a reply that is one", () => {
    for (const [reply, clientId] of [
      [17, 17],
      ["18", 18],
      ["many", null],
      [null, null],
    ] as const) {
      begin({ protocol: 2, disableClientInfo: false });
      while (connection.asked.length > 1) connection.answer("OK");
      connection.answer(reply);
      expect(connection.clientId).to.equal(clientId);
    }
  });

  const HELLO = ["server", "redis", "version", "8.2.1", "proto", 3, "id", 5, "mode", "cluster"];

  it("learns the identity of the server from HELLO, in either form", () => {
    const map = Object.fromEntries([0, 2, 4, 6, 8].map((at) => [HELLO[at], HELLO[at + 1]]));
    for (const reply of [HELLO, map]) {
      Object.assign(connection, { clientId: null, serverMode: null, serverVersion: null });
      begin();
      expect(connection.answer(reply as never)).to.equal("hello 3");
      const { clientId, serverMode, serverVersion } = connection;
      expect([clientId, serverMode, serverVersion]).to.deep.equal([5, "cluster", "redis 8.2.1"]);
      expect(connection.protocols.at(-1)).to.equal(3);
    }
    begin();
    connection.answer([]);
    expect([connection.clientId, connection.serverMode]).to.deep.equal([null, null]);
    expect(connection.serverVersion, "unchanged").to.equal("redis 8.2.1");
  });

  it("prefers what INFO says, and the own version of Valkey", () => {
    begin({ enableReadyCheck: true });
    connection.answer(HELLO as never);
    const fields = [
      "redis_version:7.2.4",
      "valkey_version:8.1.0",
      "server_mode:standalone",
      "run_id:abc",
      "",
    ];
    connection.answer(fields.join("\r\n"));
    expect(outcome?.kind).to.equal("ready");
    const { serverMode, serverVersion, serverRunId } = connection;
    expect([serverMode, serverVersion, serverRunId]).to.deep.equal(["standalone", "valkey 8.1.0", "abc"]);
  });

  it("introduces the client as the options say", () => {
    const asked = (options: HandshakeOptions): string[] => {
      begin(options);
      const words = connection.asked.map(({ spec, args }) => [spec.lowerName, ...args].join(" "));
      while (connection.asked.length > 0) connection.answer("OK");
      return words;
    };
    const version = `client SETINFO LIB-VER ${VERSION}`;
    expect(asked({})).to.deep.equal(["hello 3"]);
    expect(asked({ disableClientInfo: false })).to.deep.equal([
      "hello 3",
      version,
      `client SETINFO LIB-NAME ${NAME}`,
    ]);
    expect(asked({ disableClientInfo: false, clientInfoTag: "shop" }).at(-1)).to.equal(
      `client SETINFO LIB-NAME ${NAME}(shop)`,
    );
    expect(asked({ connectionName: "jobs", readOnly: true, enableReadyCheck: true })).to.deep.equal([
      "hello 3",
      "client setname jobs",
      "readonly",
      "info",
    ]);
    expect(asked({ protocol: 2 }), "nothing to ask").to.deep.equal([]);
    expect(outcome?.kind).to.equal("ready");
  });

  it("ignores refusals of what only describes the client", () => {
    begin({ connectionName: "jobs", readOnly: true, disableClientInfo: false, protocol: 2 });
    while (connection.asked.length > 1) connection.answer("-ERR unknown subcommand");
    connection.answer("-ERR unknown subcommand");
    expect([outcome?.kind, connection.clientId]).to.deep.equal(["ready", null]);
  });

  it("reports fieldsets that the server refuses, and is ready", () => {
    const himportFieldsets = ["a", "b"].map((name) => ({ name, fields: ["x"] }));
    begin({ protocol: 2, himportFieldsets });
    expect(connection.asked).to.have.length(2);
    connection.answer("-ERR no such fieldset");
    connection.answer("OK");
    expect([told, outcome?.kind]).to.deep.equal([["ERR no such fieldset"], "ready"]);
  });

  it("has failed at once on a connection that is closed", () => {
    connection.destroy();
    begin();
    expect([connection.asked.length, (outcome as HandshakeOutcome | null)?.kind]).to.deep.equal([
      0,
      "failed",
    ]);
  });

  it("forgets what the first login has found when the server without RESP3 needs another one", () => {
    begin({ himportFieldsets: [{ name: "a", fields: ["x"] }], enableReadyCheck: true }, { password: "pw" });
    connection.answer("-NOPROTO unsupported protocol version");
    connection.answer("-NOAUTH Authentication required.");
    connection.answer("-NOAUTH Authentication required.");
    expect([outcome, told.splice(0)]).to.deep.equal([null, ["second login"]]);
    expect(connection.answer("OK")).to.equal("auth pw");
    connection.answer("OK");
    expect(connection.answer("role:master")).to.equal("info");
    expect([told, (outcome as HandshakeOutcome | null)?.kind]).to.deep.equal([[], "ready"]);
  });

  it("has failed when a database cannot be selected, the first one with its reason", () => {
    new Handshake(
      connection.asConnection,
      {
        options: { protocol: 2, disableClientInfo: true },
        credentials: {},
        databases: [20, 30, 1],
      },
      {
        onError() {},
        onOutcome: (one) => {
          outcome = one;
        },
      },
    ).begin();
    const answers = ["-ERR DB index is out of range", "-LOADING Redis is loading", "OK"];
    expect(answers.map((one) => connection.answer(one))).to.deep.equal([
      "select 20",
      "select 30",
      "select 1",
    ]);
    expect(outcome).to.include({ kind: "failed", isTransient: false });
    const { error } = outcome as unknown as { error: Error };
    expect(error.message).to.contain("out of range");
    expect(hintOf(error)).to.contain("20");
  });
});

describe("the ready check", () => {
  const connection = new GreetedConnection().asConnection;
  const judge = (value: string, options: HandshakeOptions = {}): unknown => {
    const judged = judgeInfo(connection, { value, error: null, said: "" }, { options, credentials: {} });
    return judged.kind === "loading" ? judged.delayMs : judged.kind;
  };

  it("waits as long as the server says that it loads its data, within the limit of the option", () => {
    expect(judge("loading:0\r\n")).to.equal("ready");
    expect(judge("role:master\r\n")).to.equal("ready");
    expect(judge("loading:1\r\n"), "it does not say").to.equal(1000);
    const eta = (seconds: string): string => `loading:1\r\nloading_eta_seconds:${seconds}\r\n`;
    expect(judge(eta("3"))).to.equal(3000);
    expect(judge(eta("3"), { maxLoadingRetryTime: 500 })).to.equal(500);
    expect(judge(eta("60"))).to.equal(10_000);
    expect(judge(eta("soon"), { maxLoadingRetryTime: 700 })).to.equal(700);
  });

  it("says what a refused INFO needs, also when the server has loaded its data meanwhile", () => {
    const error = new ReplyError("NOAUTH Authentication required.");
    const answer = { value: null, error, said: error.message };
    judgeInfo(connection, answer, { options: {}, credentials: {} });
    expect(hintOf(error)).to.contain("`password`");
  });

  it("is skipped for a user without the right to INFO, and failed by other errors", () => {
    const warn = sinon.stub(console, "warn");
    try {
      const refuse = (said: string): unknown => {
        const { kind, ...rest } = judgeInfo(
          connection,
          { value: null, error: new ReplyError(said), said },
          { options: {}, credentials: {} },
        );
        return [kind, "isTransient" in rest && rest.isTransient];
      };
      expect(refuse("NOPERM this user has no permissions")).to.deep.equal(["ready", false]);
      expect(warn.callCount).to.equal(1);
      expect(refuse("LOADING Redis is loading")).to.deep.equal(["failed", true]);
      expect(refuse("ERR unknown command")).to.deep.equal(["failed", false]);
      expect(warn.callCount).to.equal(1);
    } finally {
      warn.restore();
    }
  });
});
