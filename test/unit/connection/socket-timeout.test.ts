/** `socketTimeout` in virtual time: silence counts only while replies are outstanding, and from the last byte on. */

import { expect } from "chai";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";

type Modules = typeof import("../../../src/connection/socket-timeout") &
  typeof import("../../../src/util/scheduling");

const LIMIT_MS = 1000;
/** Time limits are noticed with the next tick of the coarse timer. */
const TICK_MS = 10;

describe("SocketTimeout", () => {
  let home: InVirtualTime<Modules>;
  const connection = { queue: { inFlight: 1 }, lastActivityMs: 0 };
  let times: number;

  before(() => {
    home = inVirtualTime(() => ({
      ...require("../../../src/connection/socket-timeout"),
      ...require("../../../src/util/scheduling"),
    }));
  });

  function live(
    work: (timeout: import("../../../src/connection/socket-timeout").SocketTimeout) => Promise<void>,
  ) {
    return home.live(async () => {
      times = 0;
      connection.queue.inFlight = 1;
      connection.lastActivityMs = home.modules.clockMs();
      await work(new home.modules.SocketTimeout(connection, LIMIT_MS, () => times++));
      expect(home.time.pending).to.equal(0);
    });
  }

  it("ends a connection that is silent while a reply is outstanding, once", () =>
    live(async (timeout) => {
      timeout.windUp();
      timeout.windUp();
      await home.pass(LIMIT_MS - 1);
      expect(times).to.equal(0);
      await home.pass(1 + TICK_MS);
      expect(times).to.equal(1);
      await home.pass(5 * LIMIT_MS);
      expect(times).to.equal(1);
    }));

  it("counts from the last byte", () =>
    live(async (timeout) => {
      timeout.windUp();
      await home.pass(600);
      connection.lastActivityMs = home.modules.clockMs();
      await home.pass(LIMIT_MS - 1);
      expect(times).to.equal(0);
      await home.pass(1 + TICK_MS);
      expect(times).to.equal(1);
    }));

  it("lets an idle connection be silent, and begins anew with the next write", () =>
    live(async (timeout) => {
      timeout.windUp();
      connection.queue.inFlight = 0;
      await home.pass(3 * LIMIT_MS);
      expect(times).to.equal(0);
      connection.queue.inFlight = 1;
      connection.lastActivityMs = home.modules.clockMs();
      timeout.windUp();
      await home.pass(LIMIT_MS + TICK_MS);
      expect(times).to.equal(1);
    }));

  it("ends nothing once it is stopped, and may be wound up again", () =>
    live(async (timeout) => {
      timeout.windUp();
      timeout.stop();
      timeout.stop();
      await home.pass(3 * LIMIT_MS);
      expect(times).to.equal(0);
      connection.lastActivityMs = home.modules.clockMs();
      timeout.windUp();
      await home.pass(LIMIT_MS + TICK_MS);
      expect(times).to.equal(1);
    }));
});
