/** Credentials that expire, in virtual time: when they are renewed, and what happens when that fails. */

import { expect } from "chai";
import type { Credentials } from "../../../src/connection/handshake";
import type { CredentialRenewal, ExpiringCredentials } from "../../../src/link/credentials";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";

const MINUTE_MS = 60_000;

describe("CredentialRenewal", () => {
  let home: InVirtualTime<typeof import("../../../src/link/credentials")>;
  let renewal: CredentialRenewal;
  let told: string[];
  let answer: () => ExpiringCredentials | Promise<ExpiringCredentials>;
  let auth: (() => Promise<Error | null>) | null;

  before(() => {
    home = inVirtualTime(() => require("../../../src/link/credentials"));
  });

  function live(work: () => Promise<void>): Promise<void> {
    return home.live(async () => {
      told = [];
      answer = () => ({ password: "new" });
      auth = async () => null;
      const source = {
        credentials: () => {
          told.push("asked");
          return answer();
        },
      };
      const host = {
        authenticate: ({ password }: Credentials) => {
          told.push(auth === null ? "busy" : `AUTH ${password}`);
          return auth?.() ?? null;
        },
        report: (_type: string, { message }: Error) => void told.push(message),
      };
      renewal = new home.modules.CredentialRenewal(host, source);
      await work();
      renewal.stop();
      expect(home.time.pending).to.equal(0);
    });
  }

  const inMs = (ms: number): number => Date.now() + ms;

  it("keeps credentials of which nothing is known", () =>
    live(async () => {
      renewal.start({ password: "old" });
      await home.pass(60 * MINUTE_MS);
      expect(told).to.deep.equal([]);
    }));

  for (const end of [(at: number) => at, (at: number) => new Date(at)]) {
    it("renews them when three quarters to four fifths of their lifetime have passed", () =>
      live(async () => {
        renewal.start({ password: "old", expiresAt: end(inMs(100 * MINUTE_MS)) });
        await home.pass(75 * MINUTE_MS - 1);
        expect(told).to.deep.equal([]);
        await home.pass(5 * MINUTE_MS + 2);
        expect(told).to.deep.equal(["asked", "AUTH new"]);
      }));
  }

  it("forgets the end of credentials that others have replaced", () =>
    live(async () => {
      renewal.start({ password: "old", expiresAt: inMs(1000) });
      renewal.start({ password: "newer", expiresAt: inMs(60 * MINUTE_MS) });
      await home.pass(MINUTE_MS);
      expect(told).to.deep.equal([]);
    }));

  it("goes on with what the source has given", () =>
    live(async () => {
      answer = () => ({ password: "new", expiresAt: inMs(10_000) });
      renewal.start({ password: "old", expiresAt: inMs(10_000) });
      await home.pass(8_100);
      await home.pass(8_100);
      expect(told).to.deep.equal(["asked", "AUTH new", "asked", "AUTH new"]);
    }));

  it("does not ask in a hurry for credentials that have expired already", () =>
    live(async () => {
      renewal.start({ password: "old", expiresAt: inMs(-MINUTE_MS) });
      await home.pass(499);
      expect(told).to.deep.equal([]);
      await home.pass(2);
      expect(told).to.deep.equal(["asked", "AUTH new"]);
    }));

  it("asks a source that fails again, each time later, and never later than half a minute", () =>
    live(async () => {
      answer = () => {
        throw new Error("no vault");
      };
      renewal.start({ password: "old", expiresAt: inMs(1000) });
      const timesMs: number[] = [];
      let seen = 0;
      const beganMs = home.time.nowMs;
      await home.pass(4 * MINUTE_MS, () => {
        const asked = told.filter((word) => word === "asked").length;
        if (asked > seen) timesMs.push(Math.round(home.time.nowMs - beganMs));
        seen = asked;
      });
      const gaps = timesMs.slice(1).map((ms, index) => ms - (timesMs[index] as number));
      expect(gaps.slice(0, 8)).to.deep.equal([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
      expect(told.slice(0, 4)).to.deep.equal(["asked", "no vault", "asked", "no vault"]);
    }));

  it("begins with the shortest pause again once a renewal has succeeded", () =>
    live(async () => {
      auth = async () => new Error("WRONGPASS");
      renewal.start({ password: "old", expiresAt: inMs(1000) });
      await home.pass(2000);
      expect(told).to.deep.equal(["asked", "AUTH new", "WRONGPASS", "asked", "AUTH new", "WRONGPASS"]);
      auth = async () => null;
      answer = () => ({ password: "new", expiresAt: inMs(1000) });
      await home.pass(1000);
      told.length = 0;
      auth = async () => new Error("WRONGPASS");
      await home.pass(800 + 500 + 100);
      expect(told.filter((word) => word === "WRONGPASS")).to.have.length(2);
    }));

  it("holds new credentials while AUTH cannot be sent", () =>
    live(async () => {
      auth = null;
      answer = () => ({ password: "new", expiresAt: inMs(10_000) });
      renewal.start({ password: "old", expiresAt: inMs(1000) });
      await home.pass(MINUTE_MS / 10);
      renewal.release();
      expect(told).to.deep.equal(["asked", "busy", "busy"]);
      auth = async () => null;
      await home.pass(2000);
      renewal.release();
      renewal.release();
      expect(told.slice(3)).to.deep.equal(["AUTH new"]);
    }));

  it("asks again if those that it held have expired meanwhile", () =>
    live(async () => {
      auth = null;
      answer = () => ({ password: "short", expiresAt: inMs(1000) });
      renewal.start({ password: "old", expiresAt: inMs(1000) });
      await home.pass(MINUTE_MS);
      auth = async () => null;
      answer = () => ({ password: "new" });
      renewal.release();
      await home.pass(1);
      expect(told).to.deep.equal(["asked", "busy", "asked", "AUTH new"]);
    }));

  it("renews before the end although the source is down for a minute when it is asked first", () =>
    live(async () => {
      const endMs = Date.now() + 15 * MINUTE_MS;
      let isDownUntilMs: number | null = null;
      answer = () => {
        isDownUntilMs ??= Date.now() + MINUTE_MS;
        if (Date.now() < isDownUntilMs) throw new Error("down");
        return { password: "new" };
      };
      renewal.start({ password: "old", expiresAt: endMs });
      while (!told.includes("AUTH new")) await home.pass(1000);
      expect(Date.now()).to.be.within((isDownUntilMs ?? 0) - 1, endMs - 1);
      expect(told.filter((word) => word === "down").length).to.be.greaterThan(3);
    }));

  it("asks a source that does not answer again after ten seconds, and uses the first answer", () =>
    live(async () => {
      const answers: ((credentials: ExpiringCredentials) => void)[] = [];
      answer = () => new Promise((resolve) => answers.push(resolve));
      renewal.start({ password: "old", expiresAt: inMs(15 * MINUTE_MS) });
      while (answers.length === 0) await home.pass(1000);
      await home.pass(9000);
      expect(told).to.deep.equal(["asked"]);
      await home.pass(2000);
      answers[1]?.({ password: "new", expiresAt: inMs(15 * MINUTE_MS) });
      await home.pass(MINUTE_MS);
      expect(told).to.deep.equal(["asked", "asked", "AUTH new"]);
    }));

  it("does nothing with what a source or a server says after the connection is gone", () =>
    live(async () => {
      for (const end of ["source", "failing source", "server"]) {
        let release!: () => void;
        const held = new Promise<void>((resolve) => {
          release = resolve;
        });
        answer = () => ({ password: "new" });
        auth = async () => null;
        if (end === "server") auth = () => held.then(() => new Error("too late"));
        else {
          answer = async () => {
            await held;
            if (end === "failing source") throw new Error("too late");
            return { password: "new" };
          };
        }
        told.length = 0;
        renewal.start({ password: "old", expiresAt: inMs(1000) });
        await home.pass(810);
        renewal.stop();
        release();
        await home.pass(MINUTE_MS);
        expect(told, end).to.deep.equal(end === "server" ? ["asked", "AUTH new"] : ["asked"]);
      }
    }));
});
