/** A connection that is asked before a command after a long silence: when it may go on, and when it is over. */

import { expect } from "chai";
import type { Command } from "../../../src/command/command";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";

type Modules = typeof import("../../../src/link/liveness") & typeof import("../../../src/errors");
const TEXT = { protocol: 2, replyMapping: "legacy" } as const;
/** More than any limit. */
const LONG_MS = 60_000;

describe("a check before the first command after a silence", () => {
  let home: InVirtualTime<Modules>;
  let told: string[];
  let ping: Command;
  let connection: { handshakeMs: number; bytesRead: number };

  before(() => {
    home = inVirtualTime(() => ({
      ...require("../../../src/link/liveness"),
      ...require("../../../src/errors"),
    }));
  });

  /** A check of a connection with a handshake of this length; it is over after the test. */
  function check(work: () => Promise<void>, handshakeMs = 1): Promise<void> {
    return home.liveAlone(async () => {
      told = [];
      connection = Object.assign(
        {
          sendAhead: (command: Command) => {
            ping = command;
            told.push(command.spec.lowerName);
          },
          goOn: () => void told.push("goes on"),
        },
        { handshakeMs, bytesRead: 10 },
      );
      const link = {
        options: { watchdog: false },
        connection,
        server: "server:1",
        mode: "normal",
        isWritable: true,
        session: { isInTransaction: false },
        reset: ({ message }: Error) => {
          told.push(`silent ${/within (\d+) ms/.exec(message)?.[1]}`);
          liveness.stop();
        },
      };
      const liveness = new home.modules.Liveness(link as never, {} as never);
      liveness.onSilence(LONG_MS, undefined);
      await work();
      ping.fail(new home.modules.ConnectionClosedError());
      await home.pass(LONG_MS);
      liveness.stop();
      expect(home.time.pending).to.equal(0);
    });
  }

  it("goes on with the reply, and does nothing later", () =>
    check(async () => {
      expect(told).to.deep.equal(["ping"]);
      ping.fulfil("PONG", TEXT);
      await home.pass(LONG_MS);
      expect(told).to.deep.equal(["ping", "goes on"]);
    }));

  it("takes an error for a reply: the user may have no right to PING", () =>
    check(async () => {
      ping.fail(new home.modules.ReplyError("NOPERM this user has no permissions"));
      expect(told).to.deep.equal(["ping", "goes on"]);
    }));

  it("is over when the connection is lost", () =>
    check(async () => {
      ping.fail(new home.modules.ConnectionClosedError());
      await home.pass(LONG_MS);
      expect(told).to.deep.equal(["ping"]);
    }));

  it("takes any byte for a sign of life when its time is over", () =>
    check(async () => {
      connection.bytesRead++;
      await home.pass(LONG_MS);
      expect(told).to.deep.equal(["ping", "goes on"]);
    }));

  it("tells of a silence once, which may last longer where the handshake was slow", async () => {
    const limits: number[] = [];
    for (const handshakeMs of [1, 500, 1_000_000]) {
      await check(async () => {
        await home.pass(LONG_MS);
        expect(told).to.have.length(2);
        limits.push(Number(/^silent (\d+)$/.exec(told[1] ?? "")?.[1]));
      }, handshakeMs);
    }
    const [least, slow, most] = limits as [number, number, number];
    expect(slow).to.be.above(500).and.above(least).and.below(most);
    expect(most).to.be.below(LONG_MS);
  });
});
