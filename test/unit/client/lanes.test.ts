/** Which options give a client several connections, and what its events hear of them. */

import { expect } from "chai";
import { openLanes } from "../../../src/client/lanes";
import type { Command } from "../../../src/command/command";
import { ConnectionCounts } from "../../../src/connection/connection-counts";
import type { Link } from "../../../src/link/link";
import type { LinkDeps } from "../../../src/link/link-options";

const DEPS = {
  listener: { onStatus() {}, onNamedError() {}, onSelect() {}, onGap() {} },
  counts: new ConnectionCounts(),
} as unknown as LinkDeps;

describe("openLanes", () => {
  function open(options: object, events: object = { supervisor: null, settleWaiting() {} }) {
    return openLanes(options, events as never, DEPS, () => ({}) as Link);
  }

  it("opens none for one connection, whatever words it is asked for with", () => {
    const single = [
      {},
      { connections: undefined },
      { connections: null },
      { connections: {} },
      { connections: { lanes: 1 } },
      { connections: { lanes: 1, bulk: 0 } },
      { connections: { bulk: 0 } },
    ];
    for (const options of single) expect(open(options), JSON.stringify(options)).to.equal(null);
  });

  it("opens some for several lanes, or one for large values", () => {
    for (const connections of [{ lanes: 2 }, { bulk: 1 }, { lanes: 1, bulk: 1 }, { lanes: 3, bulk: 1 }]) {
      expect(open({ connections }), JSON.stringify(connections)).to.not.equal(null);
      expect(open({ connections, monitor: true }), "MONITOR prints what one connection hears").to.equal(null);
      expect(open({ connections, monitor: false })).to.not.equal(null);
    }
  });

  it("tells the cluster how its lanes do, and hands on what has not reached one", () => {
    const told: unknown[][] = [];
    const events = {
      supervisor: null as object | null,
      settleWaiting: (commands: readonly Command[]) => void told.push(["settled", commands]),
    };
    const { owner } = open({ connections: { lanes: 2 } }, events) as unknown as {
      owner: { onLaneStatus(status: string): void; settleWaiting(commands: readonly Command[]): void };
    };
    owner.onLaneStatus("ready");
    events.supervisor = {};
    owner.onLaneStatus("ready");
    events.supervisor = { onStatus: (status: string) => void told.push(["status", status]) };
    owner.onLaneStatus("reconnecting");
    const commands: Command[] = [];
    owner.settleWaiting(commands);
    expect(told).to.deep.equal([
      ["status", "reconnecting"],
      ["settled", commands],
    ]);
  });
});
