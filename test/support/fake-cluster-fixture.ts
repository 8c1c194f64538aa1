/**
 * A cluster of two scripted nodes for each test, the clients that it opens, and a key. Each node
 * serves half of the slots; the key is at the second.
 */

import calculateSlot from "cluster-key-slot";
import type { ClusterOptions } from "../../src/client/options/cluster-options";
import type { Cluster } from "../../src/index";
import { ClusterFixture } from "./cluster-fixture";
import { FakeCluster } from "./fake-cluster";

export const KEY = "foo";
export const SLOT = calculateSlot(KEY);
/** Numbers of the nodes. */
export const OWNER = 1;
export const OTHER = 0;

export class FakeClusterFixture {
  private running: FakeCluster | null = null;
  private readonly clients = new ClusterFixture();

  /** Registers the hooks of the surrounding `describe`. */
  install(): this {
    beforeEach(async () => {
      this.running = await FakeCluster.start(2);
    });
    afterEach(async () => {
      await this.clients.closeClients();
      await this.running?.stop();
      this.running = null;
    });
    return this;
  }

  get fake(): FakeCluster {
    if (this.running === null) throw new Error("The nodes run while a test does");
    return this.running;
  }

  closeClients(): Promise<void> {
    return this.clients.closeClients();
  }

  /** A client with an error listener; it is closed after the test. */
  connect(options: ClusterOptions = {}, seeds = this.fake.seeds): Cluster {
    return this.clients.connectTo(seeds, options);
  }
}
