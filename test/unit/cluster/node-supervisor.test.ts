/** The events of one node's link: which of them are a reason to ask for the slots, and what is handed on. */

import { expect } from "chai";
import { ClusterNode, type NodeClient } from "../../../src/cluster/cluster-node";
import { NodeSupervisor, type NodeSupervisorDeps } from "../../../src/cluster/node-supervisor";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { Ending } from "../../support/ending";

describe("NodeSupervisor", () => {
  const waiting = [new Command(specOf("get"), ["k"], false, new Ending())];
  let told: string[];
  let node: ClusterNode;
  let client: NodeClient;
  let supervisor: NodeSupervisor;
  let waitsForLost: boolean;
  let isTaken: boolean;

  beforeEach(() => {
    told = [];
    [waitsForLost, isTaken] = [false, false];
    node = new ClusterNode({ host: "h", port: 1 });
    client = {} as never;
    const deps = {
      pool: {
        setLost: (lost: ClusterNode, isLost: boolean) => {
          if (!isLost) told.push("regain");
          lost.isDown = isLost && !waitsForLost;
        },
        onEnded: (ended: NodeClient) => void told.push(ended === client ? "ended" : "ended another"),
      },
      redirector: {
        takesOver: () => isTaken,
        takeOver: (by: ClusterNode, commands: readonly Command[]) =>
          void told.push(`${by.key} takes over ${commands.length}`),
        onReplyError: (by: ClusterNode) => told.push(`${by.key} redirects`) > 0 && isTaken,
        leadAway: (by: ClusterNode) => void told.push(`${by.key} is lost`),
      },
      refresher: {
        request: (hint: unknown) => void told.push(`refresh ${hint}`),
        askAtOnce: ({ key }: ClusterNode) => void told.push(`ask ${key}`),
      },
      slots: { follow: (announced: unknown) => void told.push(`follow ${announced}`) },
      owner: {
        onNodeError: (error: Error, key: string) => void told.push(`${key}: ${error.message}`),
        emit: (...words: unknown[]) => void told.push(words.join(" ")),
      },
    };
    supervisor = new NodeSupervisor(node, deps as unknown as NodeSupervisorDeps);
    supervisor.client = client;
    node.client = client;
  });

  it("hands on what waits when the node is lost, unless it may wait, and asks for the slots each time", () => {
    supervisor.onStatus("reconnecting");
    expect(told).to.deep.equal(["h:1 is lost", "refresh null"]);
    waitsForLost = true;
    supervisor.onStatus("reconnecting");
    expect(told).to.deep.equal(["h:1 is lost", "refresh null", "refresh null"]);
  });

  it("leaves the node alone that has another client by now", () => {
    node.client = {} as never;
    supervisor.onStatus("ready");
    supervisor.onStatus("reconnecting");
    expect(told).to.deep.equal([]);
    supervisor.onStatus("end");
    expect([told, node.isDown]).to.deep.equal([["ended"], false]);
  });

  it("calls a node down that ends without ever having been ready, and no other", () => {
    supervisor.onStatus("ready");
    supervisor.onStatus("end");
    expect([told, node.isDown]).to.deep.equal([["regain", "ended"], false]);
    const never = new NodeSupervisor(node, { pool: { onEnded() {} } } as unknown as NodeSupervisorDeps);
    never.client = client;
    never.onStatus("end");
    expect(node.isDown).to.equal(true);
  });

  it("says nothing before its client is made", () => {
    supervisor.client = null;
    for (const status of ["ready", "reconnecting", "end"] as const) supervisor.onStatus(status);
    expect([told, node.isDown]).to.deep.equal([[], false]);
  });

  it("asks for the slots when the node is suspected, and reports only errors", () => {
    client = { link: { connection: { lastActivityMs: 0 } } } as never;
    node.client = client;
    expect(node.isSuspect).to.equal(false);
    supervisor.onNamedError("busy", new Error("silent"));
    expect(node.isSuspect).to.equal(true);
    supervisor.onNamedError("error", new Error("broken"));
    supervisor.onNamedError("credentialsError", new Error("old"));
    expect(told).to.deep.equal(["refresh null", "h:1: broken"]);
  });

  it("gives replies and left commands to the redirector, in the name of its node", () => {
    const [command] = waiting as [Command];
    expect(supervisor.onReplyError(command, new Error("ERR"))).to.equal(false);
    expect(supervisor.takeover.takesOver(command)).to.equal(false);
    isTaken = true;
    expect(supervisor.onReplyError(command, new Error("MOVED"))).to.equal(true);
    expect(supervisor.takeover.takesOver(command)).to.equal(true);
    supervisor.takeover.takeOver(waiting, new Error("lost"));
    expect(told).to.deep.equal(["h:1 redirects", "h:1 redirects", "h:1 takes over 1"]);
  });

  it("reports maintenance of its node, and asks it for the table when it has announced new owners", () => {
    supervisor.onMaintenance("migrating");
    supervisor.onSlotsMoved("moves" as never);
    expect(told).to.deep.equal(["maintenance migrating h:1", "follow moves", "ask h:1"]);
  });
});
