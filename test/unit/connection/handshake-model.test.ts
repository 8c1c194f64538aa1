/**
 * The handshake over a scripted server: random options, credentials, servers that know RESP3 or not, refuse
 * anything, load their data or break off. The list leaves in one piece, its words are those of the model,
 * and a connection is called ready only when login, databases and the ready check say so.
 */

import { expect } from "chai";
import fc from "fast-check";
import sinon from "sinon";
import type { Command } from "../../../src/command/command";
import type { Connection } from "../../../src/connection/connection";
import { ConnectionState } from "../../../src/connection/connection-state";
import { Handshake, type HandshakeOutcome } from "../../../src/connection/handshake";
import { ConnectionClosedError, ReplyError } from "../../../src/errors";
import { VERSION } from "../../../src/util/version";
import { fixedRuns } from "../../support/properties";

const TEXT = { protocol: 2, replyMapping: "legacy" } as const;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Setting {
  readonly protocol: 2 | 3;
  readonly connectionName: string | null;
  readonly readOnly: boolean;
  readonly disableClientInfo: boolean;
  readonly enableReadyCheck: boolean;
  readonly fieldsets: boolean;
  readonly username: string | null;
  readonly password: string | null;
  readonly db: number;
  readonly otherDbs: number[];
}

interface Server {
  readonly hello: "ok" | "unknown" | "NOPROTO" | "WRONGPASS";
  readonly auth: "ok" | "WRONGPASS" | "needless";
  readonly databases: number;
  readonly info: "ready" | "loading" | "NOPERM" | "refused";
  /** Refuses all that does not matter. */
  readonly isStrict: boolean;
  /** Breaks off instead of the answer of this number. */
  readonly breaksAt: number;
}

const settings: fc.Arbitrary<Setting> = fc.record({
  protocol: fc.constantFrom(2, 3),
  connectionName: fc.constantFrom(null, "worker"),
  readOnly: fc.boolean(),
  disableClientInfo: fc.boolean(),
  enableReadyCheck: fc.boolean(),
  fieldsets: fc.boolean(),
  username: fc.constantFrom(null, "ann"),
  password: fc.constantFrom(null, "pw"),
  db: fc.constantFrom(0, 1, 7),
  otherDbs: fc.constantFrom<number[]>([], [2], [9, 3]),
});

const servers: fc.Arbitrary<Server> = fc.record({
  hello: fc.constantFrom("ok", "unknown", "NOPROTO", "WRONGPASS"),
  auth: fc.constantFrom("ok", "WRONGPASS", "needless"),
  databases: fc.constantFrom(1, 4, 16),
  info: fc.constantFrom("ready", "loading", "NOPERM", "refused"),
  isStrict: fc.boolean(),
  breaksAt: fc.oneof({ weight: 3, arbitrary: fc.constant(Number.POSITIVE_INFINITY) }, fc.nat(14)),
});

/** The words of the list, in their order. */
function wantedWords(
  { db, otherDbs, ...setting }: Setting,
  protocol: 2 | 3,
  fieldset: readonly string[],
): string[] {
  const { username, password } = setting;
  const credentials = username !== null || password !== null;
  const list: string[] = [];
  if (protocol === 3)
    list.push(`hello 3${credentials ? ` AUTH ${username ?? "default"} ${password ?? ""}` : ""}`);
  else if (credentials) list.push(`auth ${username === null ? "" : `${username} `}${password ?? ""}`);
  if (db !== 0 || otherDbs.length > 0) for (const one of [...otherDbs, db]) list.push(`select ${one}`);
  if (setting.connectionName !== null) list.push(`client setname ${setting.connectionName}`);
  if (setting.readOnly) list.push("readonly");
  if (!setting.disableClientInfo)
    list.push(`client SETINFO LIB-VER ${VERSION}`, "client SETINFO LIB-NAME sluice");
  if (!setting.disableClientInfo && protocol === 2) list.push("client ID");
  if (setting.fieldsets) list.push(`himport PREPARE ${fieldset.join(" ")}`);
  if (setting.enableReadyCheck) list.push("info");
  return list;
}

class Bench {
  private readonly asked: Command[] = [];
  private readonly protocols: number[] = [];
  private answered = 0;
  private isBroken = false;
  private readonly refusals: string[] = [];

  constructor(
    private readonly setting: Setting,
    private readonly server: Server,
  ) {}

  async run(): Promise<void> {
    const { setting } = this;
    const connection = {
      state: ConnectionState.Handshaking,
      clientId: null,
      serverMode: null,
      serverRunId: null,
      serverVersion: null,
      dispatchBatch: (commands: readonly Command[]) => void this.asked.push(...commands),
      setProtocol: (protocol: number) => void this.protocols.push(protocol),
    };
    const { db, otherDbs, username, password } = setting;
    const fieldset = { name: "f", fields: ["x", "y"] };
    let ended: HandshakeOutcome | null = null;
    new Handshake(
      connection as unknown as Connection,
      {
        options: {
          ...setting,
          himportFieldsets: setting.fieldsets ? [fieldset] : [],
          maxLoadingRetryTime: 500,
        },
        credentials: { username, password },
        databases: [...otherDbs, db],
      },
      { onError: () => {}, onOutcome: (one) => (ended = one) },
    ).begin();
    expect(this.takeWords(), "the first list, in one piece").to.deep.equal(this.words(setting.protocol));
    const isDowngraded = await this.answerList(setting.protocol === 3);
    if (isDowngraded) {
      expect(this.protocols, "no word of RESP3").to.not.include(3);
      expect(this.takeWords(), "the list for RESP2").to.deep.equal(this.wordsOfDowngrade);
      await this.answerList(false);
    }
    await turn();
    expect(ended, "it has ended").to.not.equal(null);
    this.judge(ended as unknown as HandshakeOutcome, isDowngraded, connection);
  }

  private words(protocol: 2 | 3): string[] {
    return wantedWords(this.setting, protocol, ["f", "x", "y"]);
  }

  /** Without credentials the first list has run as it should, except for the words that HELLO answers. */
  private get wordsOfDowngrade(): string[] {
    const { username, password, disableClientInfo } = this.setting;
    if (username !== null || password !== null) return this.words(2);
    return disableClientInfo ? [] : ["client ID"];
  }

  private present: Command[] = [];

  private takeWords(): string[] {
    this.present = this.asked.splice(0);
    return this.present.map(({ spec, args }) => [spec.lowerName, ...args].join(" "));
  }

  /** Answers all of the list; true if another one is to follow. */
  private async answerList(isResp3: boolean): Promise<boolean> {
    const list = this.present;
    for (const command of list) {
      this.isBroken ||= this.answered++ >= this.server.breaksAt;
      this.answer(command);
      if (this.answered % 3 === 0) await turn();
    }
    await turn();
    const { hello } = this.server;
    return isResp3 && !this.refusals.includes("lost hello") && (hello === "unknown" || hello === "NOPROTO");
  }

  private answer(command: Command): void {
    const word = command.spec.lowerName;
    const text = this.isBroken ? `lost ${word}` : this.refusalOf(command);
    if (text === null) command.fulfil(word === "info" ? this.infoText() : "OK", TEXT);
    else {
      this.refusals.push(this.isBroken ? text : `${word} ${text}`);
      command.fail(this.isBroken ? new ConnectionClosedError() : new ReplyError(text));
    }
  }

  private refusalOf({ spec, args }: Command): string | null {
    const { hello, auth, databases, info, isStrict } = this.server;
    switch (spec.lowerName) {
      case "hello":
        return hello === "ok" ? null : hello === "unknown" ? "ERR unknown command 'HELLO'" : `${hello} no`;
      case "auth":
        if (auth === "ok") return null;
        return auth === "needless" ? "ERR Client sent AUTH, but no password is set" : "WRONGPASS no";
      case "select":
        return Number(args[0]) < databases ? null : "ERR DB index is out of range";
      case "info":
        return info === "NOPERM" || info === "refused" ? `${info === "NOPERM" ? "NOPERM" : "ERR"} no` : null;
      default:
        return isStrict ? "ERR no" : null;
    }
  }

  private infoText(): string {
    const { info } = this.server;
    return `run_id:abc\r\n${info === "loading" ? "loading:1\r\nloading_eta_seconds:2\r\n" : "loading:0\r\n"}`;
  }

  private judge(
    outcome: HandshakeOutcome,
    isDowngraded: boolean,
    connection: { serverRunId: unknown },
  ): void {
    const { refusals, setting } = this;
    const protocol = isDowngraded ? 2 : setting.protocol;
    const fatal = refusals.filter((one) => this.isFatal(one, isDowngraded));
    const context = `${outcome.kind}; ${refusals.join(", ")}`;
    if (fatal.length > 0) expect(outcome.kind, context).to.equal("failed");
    else if (setting.enableReadyCheck && this.server.info === "loading")
      expect(outcome, context).to.deep.equal({ kind: "loading", delayMs: 500 });
    else expect(outcome.kind, context).to.equal("ready");
    if (outcome.kind === "ready") {
      expect(this.protocols.at(-1), "the protocol that was agreed").to.equal(protocol);
      const wasTold = setting.enableReadyCheck && this.server.info === "ready";
      expect(connection.serverRunId).to.equal(wasTold ? "abc" : null);
    } else if (protocol === 3 && fatal.some((one) => /hello/.test(one)))
      expect(this.protocols, "nothing was agreed").to.deep.equal([]);
  }

  /** The answers that make a connection useless. */
  private isFatal(refusal: string, isDowngraded: boolean): boolean {
    if (refusal.startsWith("hello") && isDowngraded) return false;
    // The list for RESP3 is void when the server does not know it; the second one is judged.
    if (/^(lost )?(hello|select)/.test(refusal)) return true;
    if (refusal.startsWith("auth")) return !refusal.includes("no password is set");
    if (refusal === "lost auth" || refusal === "lost info") return true;
    return refusal.startsWith("info") && !refusal.includes("NOPERM");
  }
}

describe("the handshake, with random servers", () => {
  let warn: sinon.SinonStub;

  beforeEach(() => {
    warn = sinon.stub(console, "warn");
  });
  afterEach(() => warn.restore());

  it("says what it has to in one piece, and is ready only when the server has said so", async () => {
    await fc.assert(
      fc.asyncProperty(settings, servers, (setting, server) => new Bench(setting, server).run()),
      fixedRuns(2000),
    );
  });
});
