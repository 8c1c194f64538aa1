/** The events of one node's link: which of them are a reason to ask for the slots, and what is handed on. */

import { expect } from "chai";
import { ClusterNode, type NodeClient } from "../../../src/cluster/cluster-node";
import { NodeWatch, type NodeWatchDeps } from "../../../src/cluster/node-watch";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { Ending } from "../../support/ending";

describe("NodeWatch", () => {
  const waiting = [new Command(specOf("get"), ["k"], false, new Ending())];
  let told: string[];
  let node: ClusterNode;
  let client: NodeClient;
  let watch: NodeWatch;
  let isFirstLoss: boolean;
  let isSuspected: boolean;
  let isTaken: boolean;

  beforeEach(() => {
    told = [];
    [isFirstLoss, isSuspected, isTaken] = [true, true, false];
    node = new ClusterNode({ host: "h", port: 1 });
    client = { links: [] } as never;
    const deps = {
      pool: {
        regain: () => void told.push("regain"),
        lose: () => isFirstLoss,
        onEnded: (ended: NodeClient) => void told.push(ended === client ? "ended" : "ended another"),
        suspect: () => isSuspected,
      },
      redirector: {
        takesOver: () => isTaken,
        takeOver: (by: ClusterNode, commands: readonly Command[]) =>
          void told.push(`${by.key} takes over ${commands.length}`),
        onReplyError: (by: ClusterNode) => told.push(`${by.key} redirects`) > 0 && isTaken,
        onLost: (by: ClusterNode) => void told.push(`${by.key} is lost`),
      },
      refresher: { request: (hint: unknown) => void told.push(`refresh ${hint}`) },
      owner: { onNodeError: (error: Error, key: string) => void told.push(`${key}: ${error.message}`) },
    };
    watch = new NodeWatch(node, deps as unknown as NodeWatchDeps);
    watch.client = client;
    node.client = client;
  });

  it("hands on what waits when the node is lost for the first time, and asks for the slots each time", () => {
    watch.onStatus("reconnecting");
    expect(told).to.deep.equal(["h:1 is lost", "refresh null"]);
    isFirstLoss = false;
    watch.onStatus("reconnecting");
    expect(told).to.deep.equal(["h:1 is lost", "refresh null", "refresh null"]);
  });

  it("leaves the node alone that has another client by now", () => {
    node.client = {} as never;
    watch.onStatus("ready");
    watch.onStatus("reconnecting");
    expect(told).to.deep.equal([]);
    watch.onStatus("end");
    expect([told, node.isDown]).to.deep.equal([["ended"], false]);
  });

  it("calls a node down that ends without ever having been ready, and no other", () => {
    watch.onStatus("ready");
    watch.onStatus("end");
    expect([told, node.isDown]).to.deep.equal([["regain", "ended"], false]);
    const never = new NodeWatch(node, { pool: { onEnded() {} } } as unknown as NodeWatchDeps);
    never.client = client;
    never.onStatus("end");
    expect(node.isDown).to.equal(true);
  });

  it("calls a node down as soon as one of its connections has ended and gives commands back", () => {
    const links = [{ status: "connecting" }, { status: "connecting" }];
    Object.assign(client, { links });
    watch.takeover.takeOver(waiting, new Error("it was lost"));
    expect(node.isDown).to.equal(false);
    Object.assign(links[1] as object, { status: "end" });
    watch.takeover.takeOver(waiting, new Error("it was lost"));
    expect([told, node.isDown]).to.deep.equal([["h:1 takes over 1", "h:1 takes over 1"], true]);
  });

  it("says nothing before its client is made", () => {
    watch.client = null;
    for (const status of ["ready", "reconnecting", "end"] as const) watch.onStatus(status);
    expect([told, node.isDown]).to.deep.equal([[], false]);
  });

  it("asks for the slots once the node is newly suspected, and reports only errors", () => {
    watch.onNamedError("busy", new Error("silent"));
    isSuspected = false;
    watch.onNamedError("busy", new Error("silent"));
    watch.onNamedError("error", new Error("broken"));
    watch.onNamedError("credentialsError", new Error("old"));
    expect(told).to.deep.equal(["refresh null", "h:1: broken"]);
  });

  it("gives replies and left commands to the redirector, in the name of its node", () => {
    const [command] = waiting as [Command];
    expect(watch.onReplyError(command, new Error("ERR"))).to.equal(false);
    expect(watch.takeover.takesOver(command)).to.equal(false);
    isTaken = true;
    expect(watch.onReplyError(command, new Error("MOVED"))).to.equal(true);
    expect(watch.takeover.takesOver(command)).to.equal(true);
    watch.takeover.takeOver(waiting, new Error("lost"));
    expect(told).to.deep.equal(["h:1 redirects", "h:1 redirects", "h:1 takes over 1"]);
  });
});
