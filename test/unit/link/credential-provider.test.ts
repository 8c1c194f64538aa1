/** Connections that need credentials at the same time share one call; a failing source does not end those that are valid. */

import { expect } from "chai";
import sinon from "sinon";
import { askProvider, type CredentialRequest } from "../../../src/link/credential-provider";
import type { ExpiringCredentials } from "../../../src/link/credentials";
import { codeOf, failureOf } from "../../support/outcome";

const CONNECT: CredentialRequest = { host: "h", port: 6379, tls: false, reason: "connect" };
const RENEWAL: CredentialRequest = { ...CONNECT, reason: "renewal" };

describe("askProvider", () => {
  let clock: sinon.SinonFakeTimers;
  let requests: CredentialRequest[];
  let next: () => ExpiringCredentials | Promise<ExpiringCredentials>;
  let provide: (request: CredentialRequest) => ExpiringCredentials | Promise<ExpiringCredentials>;

  beforeEach(() => {
    clock = sinon.useFakeTimers({ now: Date.UTC(2026, 0), toFake: ["Date", "performance"] });
    requests = [];
    let round = 0;
    next = () => ({ password: `p${++round}`, expiresAt: Date.now() + 1000 });
    provide = (request) => {
      requests.push(request);
      return next();
    };
  });
  afterEach(() => clock.restore());

  it("calls the function once for all that ask before it has answered, and tells it who asked first", async () => {
    const all = await Promise.all(
      [CONNECT, { ...CONNECT, port: 2 }, RENEWAL].map((one) => askProvider(provide, one)),
    );
    expect(all.map(({ password }) => password)).to.deep.equal(["p1", "p1", "p1"]);
    expect(requests).to.deep.equal([CONNECT]);
    expect((await askProvider(provide, CONNECT)).password).to.equal("p2");
  });

  it("gives a renewal what another connection has just obtained", async () => {
    await askProvider(provide, CONNECT);
    clock.tick(499);
    expect((await askProvider(provide, RENEWAL)).password).to.equal("p1");
    clock.tick(1);
    expect((await askProvider(provide, RENEWAL)).password).to.equal("p2");
  });

  it("connects with the last credentials while the source fails, until they expire", async () => {
    await askProvider(provide, CONNECT);
    next = () => Promise.reject(new Error("down"));
    expect((await askProvider(provide, CONNECT)).password).to.equal("p1");
    expect((await failureOf(askProvider(provide, { ...CONNECT, reason: "refused" }))).message).to.equal(
      "down",
    );
    clock.tick(1000);
    expect((await failureOf(askProvider(provide, CONNECT))).message).to.equal("down");
  });

  it("does not connect again with credentials of which nobody knows when they end", async () => {
    next = () => ({ password: "p" });
    await askProvider(provide, CONNECT);
    next = () => {
      throw new Error("down");
    };
    expect((await failureOf(askProvider(provide, CONNECT))).message).to.equal("down");
  });

  describe("while the function has not answered", () => {
    let answers: ((credentials: ExpiringCredentials) => void)[];

    beforeEach(() => {
      answers = [];
      next = () => new Promise((resolve) => answers.push(resolve));
    });

    it("calls it again after ten seconds", async () => {
      const early = [askProvider(provide, CONNECT)];
      clock.tick(9_999);
      early.push(askProvider(provide, CONNECT));
      expect(requests).to.have.length(1);
      answers[0]?.({ password: "of the first call" });
      for (const one of early) expect((await one).password).to.equal("of the first call");
      askProvider(provide, CONNECT);
      clock.tick(10_000);
      const late = [askProvider(provide, CONNECT), askProvider(provide, CONNECT)];
      expect(requests).to.have.length(3);
      answers[2]?.({ password: "of the third call" });
      for (const one of late) expect((await one).password).to.equal("of the third call");
    });

    it("calls it again for connections that a server has refused meanwhile, once for all of them", async () => {
      const others = [askProvider(provide, CONNECT)];
      const refused = [1, 2].map(() => askProvider(provide, { ...CONNECT, reason: "refused" }));
      others.push(askProvider(provide, CONNECT));
      expect(requests.map(({ reason }) => reason)).to.deep.equal(["connect", "refused"]);
      answers[0]?.({ password: "of the first call" });
      answers[1]?.({ password: "of the second call" });
      const passwords = await Promise.all([...others, ...refused]);
      expect(passwords.map(({ password }) => password)).to.deep.equal([
        "of the first call",
        ...others
          .slice(1)
          .concat(refused)
          .map(() => "of the second call"),
      ]);
    });

    it("connects with the last credentials after ten seconds, until they expire", async () => {
      const first = askProvider(provide, CONNECT);
      answers[0]?.({ password: "p1", expiresAt: Date.now() + 60_000 });
      await first;
      const waiting = askProvider(provide, CONNECT);
      clock.tick(10_000);
      expect((await askProvider(provide, CONNECT)).password).to.equal("p1");
      clock.tick(5_000);
      expect((await askProvider(provide, CONNECT)).password).to.equal("p1");
      expect(requests).to.have.length(3);
      answers[2]?.({ password: "p3", expiresAt: Date.now() + 60_000 });
      await new Promise((resolve) => setImmediate(resolve));
      const again = askProvider(provide, CONNECT);
      answers[3]?.({ password: "p4", expiresAt: Date.now() + 10_000 });
      expect((await again).password).to.equal("p4");
      askProvider(provide, CONNECT);
      clock.tick(10_000);
      const last = askProvider(provide, CONNECT);
      answers[5]?.({ password: "p6" });
      expect((await last).password).to.equal("p6");
      answers[1]?.({ password: "late" });
      expect((await waiting).password).to.equal("p6");
    });

    it("prefers the answer to the later call, whichever comes first", async () => {
      const early = askProvider(provide, CONNECT);
      clock.tick(10_000);
      const late = askProvider(provide, CONNECT);
      const expiresAt = Date.now() + 1000;
      answers[1]?.({ password: "of the second call", expiresAt });
      await late;
      answers[0]?.({ password: "of the first call", expiresAt });
      expect((await early).password).to.equal("of the second call");
      expect((await askProvider(provide, RENEWAL)).password).to.equal("of the second call");
      next = () => Promise.reject(new Error("down"));
      expect((await askProvider(provide, CONNECT)).password).to.equal("of the second call");
    });

    it("does not take a jump of the system clock for elapsed time", async () => {
      const early = askProvider(provide, CONNECT);
      clock.setSystemTime(Date.now() + 3_600_000);
      const second = askProvider(provide, CONNECT);
      clock.setSystemTime(0);
      clock.tick(10_000);
      const third = askProvider(provide, CONNECT);
      expect(requests).to.have.length(2);
      for (const answer of answers) answer({ password: "p" });
      await Promise.all([early, second, third]);
    });
  });

  it("takes numbers for text, and nothing else", async () => {
    next = () => ({ username: 7, password: 1234 }) as never;
    expect((await askProvider(provide, CONNECT)).password).to.equal(1234);
    for (const wrong of [true, ["p"], { text: "p" }]) {
      next = () => ({ password: wrong }) as never;
      expect(await codeOf(askProvider(provide, { ...CONNECT, reason: "refused" }))).to.equal("CREDENTIALS");
    }
  });

  it("takes an empty object for the user without a password, and no object with other names", async () => {
    next = () => ({});
    expect(await askProvider(provide, CONNECT)).to.deep.equal({});
    next = () => Object.create(null) as object;
    expect(await askProvider(provide, CONNECT)).to.deep.equal({});
    for (const wrong of [
      new Map([["password", "p"]]),
      new Date(0),
      { token: "t" },
      { user: "u", pass: "p" },
      { password: undefined },
    ]) {
      next = () => wrong as never;
      expect(await codeOf(askProvider(provide, { ...CONNECT, reason: "refused" }))).to.equal("CREDENTIALS");
    }
  });

  it("refuses a result that holds no credentials", async () => {
    next = () => null as never;
    expect(await codeOf(askProvider(provide, CONNECT))).to.equal("CREDENTIALS");
  });
});
