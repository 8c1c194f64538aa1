/** Messages of sentinels about a failover: which of them are news, and that they are told once. */

import { EventEmitter } from "node:events";
import { expect } from "chai";
import { FailoverDetector } from "../../../src/sentinel/failover-detector";

class Sentinel extends EventEmitter {
  readonly channels: string[] = [];
  isOpen = true;

  subscribe(channel: string): Promise<unknown> {
    this.channels.push(channel);
    return this.channels.length > 0 ? Promise.reject(new Error("unreachable")) : Promise.resolve();
  }

  disconnect(): void {
    this.isOpen = false;
  }
}

describe("FailoverDetector", () => {
  let told: unknown[];
  let isElsewhere: boolean;
  let sentinels: [Sentinel, Sentinel];
  let detector: FailoverDetector;

  beforeEach(() => {
    told = [];
    isElsewhere = true;
    sentinels = [new Sentinel(), new Sentinel()];
    detector = new FailoverDetector(
      new Map(sentinels.map((client, index) => [client as never, { host: `s${index}` }])),
      "group",
      {
        isElsewhere: (master) => told.push(master) > 0 && isElsewhere,
        onSwitch: (sentinel) => void told.push(`switch by ${sentinel.host}`),
        onDetectorReconnecting: () => void told.push("reconnecting"),
      },
    );
  });

  it("starts although no sentinel can be reached, and listens for promotions only for a master", async () => {
    await detector.start(true);
    expect(sentinels.map(({ channels }) => channels)).to.deep.equal([
      ["+switch-master", "+promoted-slave"],
      ["+switch-master", "+promoted-slave"],
    ]);
    const [replica] = (sentinels = [new Sentinel(), new Sentinel()]);
    await new FailoverDetector(new Map([[replica as never, {}]]), "group", {} as never).start(false);
    expect(replica.channels).to.deep.equal(["+switch-master"]);
  });

  it("reads the new master from either message, tells once, and lets go of all sentinels", async () => {
    await detector.start(true);
    sentinels[1].emit("message", "+switch-master", "group 10.0.0.1 6379 10.0.0.2 6380");
    sentinels[0].emit("message", "+switch-master", "group 10.0.0.1 6379 10.0.0.3 6381");
    sentinels[0].emit("reconnecting");
    expect(told).to.deep.equal([{ host: "10.0.0.2", port: 6380 }, "switch by s1"]);
    expect(sentinels.map(({ isOpen }) => isOpen)).to.deep.equal([false, false]);
  });

  it("reads a promotion", async () => {
    await detector.start(true);
    sentinels[0].emit("message", "+promoted-slave", "slave x 10.0.0.2 6380 @ group 10.0.0.1 6379");
    expect(told).to.deep.equal([{ host: "10.0.0.2", port: 6380 }, "switch by s0"]);
  });

  it("passes over other groups, other channels, and news of the master that it has", async () => {
    await detector.start(true);
    const [first] = sentinels;
    first.emit("message", "+switch-master", "other 10.0.0.1 6379 10.0.0.2 6380");
    first.emit("message", "+promoted-slave", "slave x 10.0.0.2 6380 @ other 10.0.0.1 6379");
    first.emit("message", "+sdown", "group 10.0.0.1 6379 10.0.0.2 6380");
    first.emit("message");
    expect(told).to.deep.equal([]);
    isElsewhere = false;
    first.emit("message", "+switch-master", "group 10.0.0.1 6379 10.0.0.2 6380");
    first.emit("reconnecting");
    expect(told).to.deep.equal([{ host: "10.0.0.2", port: 6380 }, "reconnecting"]);
    expect(first.isOpen).to.equal(true);
  });
});
