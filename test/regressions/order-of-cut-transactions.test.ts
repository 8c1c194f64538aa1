/**
 * The place of a transaction among the commands of its slot, when the connection breaks between
 * its QUEUED and the reply of its EXEC, or behind a redirect: it runs whole, where it was issued.
 */

import { expect } from "chai";
import { FakeClusterFixture, KEY, OTHER, OWNER, SLOT } from "../support/fake-cluster-fixture";
import { NO_REPLY, status } from "../support/fake-server";

const USERS = /^(append|multi|exec)$/;

describe("cluster: a transaction that is cut keeps its place in its slot", () => {
  const fixture = new FakeClusterFixture().install();

  /** The commands of callers that the node was sent over its last connection. */
  function lastSent(sent: readonly (readonly string[])[]): string {
    return sent.map(([name, , value]) => (name === "append" ? value : name)).join(" ");
  }

  for (const clusterNodeRetryStrategy of [() => 5, undefined]) {
    const way = clusterNodeRetryStrategy === undefined ? "made anew" : "dialled again";

    it(`before younger commands, on a node that is ${way}`, async () => {
      const owner = fixture.fake.node(OWNER);
      let sent: string[][] = [];
      let isCut = false;
      owner.script = (words, { socket }) => {
        const [name = ""] = words;
        if (!USERS.test(name)) return undefined;
        if (!isCut && name === "append") {
          isCut = true;
          sent = [];
          socket.end("+QUEUED\r\n");
          return NO_REPLY;
        }
        if (socket.writableEnded) return NO_REPLY;
        sent.push(words);
        if (name === "multi") return status("OK");
        if (name === "exec") return [1];
        return words[2] === "first" ? status("QUEUED") : 1;
      };
      const cluster = fixture.connect({ clusterNodeRetryStrategy });
      await Promise.all([cluster.multi().append(KEY, "first").exec(), cluster.append(KEY, "second")]);
      expect(lastSent(sent)).to.equal("multi first exec second");
    });

    it(`behind older commands that followed the same redirect, to a node that is ${way}`, async () => {
      const [owner, other] = [fixture.fake.node(OWNER), fixture.fake.node(OTHER)];
      const moved = new Error(`MOVED ${SLOT} ${other.key}`);
      owner.script = ([name = "", , value]) => {
        if (name === "multi") return status("OK");
        if (name === "exec") return new Error("EXECABORT Transaction discarded because of previous errors.");
        if (name !== "append") return undefined;
        return value === "second" ? status("QUEUED") : moved;
      };
      let sent: string[][] = [];
      let isCut = false;
      other.script = (words, { socket }) => {
        const [name = ""] = words;
        if (!USERS.test(name)) return undefined;
        if (!isCut) {
          isCut = true;
          socket.destroy();
          return NO_REPLY;
        }
        if (socket.destroyed) return NO_REPLY;
        sent.push(words);
        if (name === "multi") return status("OK");
        if (name === "exec") return [1, 1];
        return words[2] === "first" ? 1 : status("QUEUED");
      };
      const cluster = fixture.connect({ clusterNodeRetryStrategy });
      sent = [];
      await Promise.all([
        cluster.append(KEY, "first"),
        cluster.multi().append(KEY, "second").append(KEY, "third").exec(),
        cluster.append(KEY, "fourth"),
      ]).catch(() => {});
      expect(lastSent(sent)).to.equal("first multi second third exec fourth");
    });
  }
});
