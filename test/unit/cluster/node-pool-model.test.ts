/**
 * The pool of nodes without connections: random tables, losses, renewals, answers and closings. A client
 * is opened once and closed once, what is given out takes commands, a node that left is let go of in its
 * time, and a closed pool is empty.
 */

import { expect } from "chai";
import fc from "fast-check";
import type { ClusterNode, NodeClient, NodeRole } from "../../../src/cluster/cluster-node";
import type { NodePool } from "../../../src/cluster/node-pool";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";
import { fixedRuns } from "../../support/properties";

const NODES = 4;
/** Longer than a node that has left may take to answer. */
const FAREWELL_MS = 2100;

/** A client whose link ends a moment after it was told to, when it is let. */
class ModelClient {
  isOwing = false;
  isReadOnly = false;
  isLeaving = false;
  isEnded = false;
  readonly link: object;

  constructor(
    readonly key: string,
    private readonly onEnding: (client: ModelClient) => void,
  ) {
    const self = this;
    this.link = {
      get isLeaving() {
        return self.isLeaving;
      },
      get isClosing() {
        return self.isLeaving;
      },
      connection: null,
      disconnect: () => {
        self.isLeaving = true;
        self.onEnding(self);
      },
    };
  }

  get isIdle(): boolean {
    return !this.isOwing;
  }

  handOn(): void {
    this.isOwing = false;
  }

  setReadOnly(isReadOnly: boolean): void {
    this.isReadOnly = isReadOnly;
  }
}

type Step =
  | { readonly do: "table"; readonly roles: (NodeRole | null)[] }
  | {
      readonly do: "ask" | "owe" | "answer" | "end" | "lose" | "regain" | "renew" | "suspect";
      readonly at: number;
    }
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "ends" | "close" | "open"; readonly at?: undefined };

const role = fc.constantFrom<NodeRole | null>("master", "slave", null);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant("table" as const),
        roles: fc.array(role, { minLength: NODES, maxLength: NODES }),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constantFrom("ask", "owe", "answer", "end", "lose", "regain", "renew", "suspect"),
        at: fc.nat(NODES - 1),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.constantFrom<Step>({ do: "ends" }, { do: "wait", ms: 30 }, { do: "wait", ms: 900 }),
    },
    { weight: 1, arbitrary: fc.constantFrom<Step>({ do: "close" }, { do: "open" }, { do: "open" }) },
  ) as fc.Arbitrary<Step>,
  { maxLength: 50, size: "max" },
);

describe("the pool of nodes, on random programs", () => {
  let home: InVirtualTime<typeof import("../../../src/cluster/node-pool")>;

  before(() => {
    home = inVirtualTime(() => require("../../../src/cluster/node-pool"));
  });

  class Bench {
    private readonly made: ModelClient[] = [];
    private readonly opened: ModelClient[] = [];
    private readonly closed: ModelClient[] = [];
    private empties = 0;
    private readonly pool: NodePool;

    constructor(private readonly waitsForLost: boolean) {
      this.pool = new home.modules.NodePool(
        {
          makeClient: ({ key }) => {
            const client = new ModelClient(key, () => {});
            this.made.push(client);
            return client as unknown as NodeClient;
          },
          onClientOpened: (client) => {
            expect(this.pool.isSealed, "a closed pool opens nothing").to.equal(false);
            this.opened.push(client as unknown as ModelClient);
          },
          onClientClosed: (_node, client) => this.closed.push(client as unknown as ModelClient),
          lifecycle: { onEmpty: () => this.empties++ },
        },
        waitsForLost,
      );
      this.pool.isSealed = false;
    }

    async run(program: readonly Step[]): Promise<void> {
      for (const step of program) {
        await this.step(step);
        this.check();
      }
      this.pool.isSealed = false;
      this.takeTable(["master", "slave", null, null]);
      for (let i = 0; i < 3; i++) {
        await home.pass(FAREWELL_MS);
        this.endAll();
      }
      this.check();
      expect(this.pool.allClients().length, "clients of members only").to.equal(2);
      this.pool.clear();
      this.endAll();
      this.check();
      expect([this.pool.allClients().length, this.pool.list().length]).to.deep.equal([0, 0]);
      expect(this.closed).to.have.members(this.opened);
      expect(this.empties).to.be.above(0);
      expect(home.time.pending, "timers").to.equal(0);
    }

    private async step(step: Step): Promise<void> {
      const { pool } = this;
      if (step.do === "table") this.takeTable(step.roles);
      else if (step.do === "wait") await home.pass(step.ms);
      else if (step.do === "ends") this.endAll();
      else if (step.do === "close") pool.clear();
      else if (step.do === "open") pool.isSealed = false;
      else if (step.at !== undefined) this.stepAt(step.do, this.nodeAt(step.at));
    }

    private stepAt(what: string, node: ClusterNode): void {
      const { pool } = this;
      const client = node.client as unknown as ModelClient | null;
      if (what === "ask") {
        const given = pool.clientOf(node) as unknown as ModelClient;
        if (!pool.isSealed) expect(given.isLeaving, "it takes commands").to.equal(false);
        expect(given.key).to.equal(node.key);
      } else if (what === "owe" && client !== null) client.isOwing = true;
      else if (what === "answer" && client !== null) client.isOwing = false;
      else if (what === "end" && client !== null) this.end(client);
      else if (what === "lose") {
        pool.setLost(node, true);
        expect(node.isDown).to.equal(!this.waitsForLost);
      } else if (what === "regain") {
        pool.setLost(node, false);
        expect([node.isLost, node.isDown]).to.deep.equal([false, false]);
      } else if (what === "renew" && client !== null && !pool.isSealed) {
        pool.renew(node);
        expect(node.client, "another one").to.not.equal(client);
      } else if (what === "suspect") node.suspect();
    }

    private takeTable(roles: readonly (NodeRole | null)[]): void {
      if (this.pool.isSealed) return;
      const known = new Map<ClusterNode, NodeRole>();
      for (const [at, one] of roles.entries()) if (one !== null) known.set(this.nodeAt(at), one);
      this.pool.setMembers(known);
      const names = this.pool.list().map(({ key, role: has }) => `${key} ${has}`);
      const wanted = roles.flatMap((one, at) => (one === null ? [] : [`h:${7000 + at} ${one}`]));
      expect(names.sort()).to.deep.equal(wanted);
    }

    private nodeAt(at: number): ClusterNode {
      return this.pool.at({ host: "h", port: 7000 + at }) as ClusterNode;
    }

    private end(client: ModelClient): void {
      if (client.isEnded) return;
      client.isLeaving = true;
      client.isEnded = true;
      this.pool.onEnded(client as unknown as NodeClient);
    }

    /** The links that were told to end have done so. */
    private endAll(): void {
      for (const client of this.made) if (client.isLeaving) this.end(client);
    }

    private check(): void {
      const { pool, opened, closed } = this;
      expect(new Set(opened).size, "opened once").to.equal(opened.length);
      expect(new Set(closed).size, "closed once").to.equal(closed.length);
      for (const client of closed) expect(opened).to.include(client);
      const open = opened.filter((one) => !closed.includes(one));
      expect(pool.allClients()).to.have.members(open);
      expect(pool.allClients().length).to.equal(open.length);
      // A client that was made while the pool was closed is never used, and ends.
      for (const client of this.made) if (!opened.includes(client)) expect(client.isLeaving).to.equal(true);
      const nodes = pool.list();
      expect(new Set(nodes.map(({ key }) => key)).size, "one node for one name").to.equal(nodes.length);
      for (const { client } of nodes) expect(open).to.include(client);
      // Connections that no node holds are on their way out.
      const held = nodes.map(({ client }) => client as unknown as ModelClient);
      const left = open.filter((one) => !held.includes(one) && !one.isLeaving);
      for (const one of left) expect(one.isOwing, "it is let go of at once unless it owes").to.equal(true);
    }
  }

  for (const waitsForLost of [false, true]) {
    it(`opens and closes every client once, ${waitsForLost ? "waiting for" : "going round"} lost nodes`, async () => {
      await fc.assert(
        fc.asyncProperty(steps, (program) => home.liveAlone(() => new Bench(waitsForLost).run(program))),
        fixedRuns(150),
      );
    });
  }
});
