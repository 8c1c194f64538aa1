/** Socket.IO on a cluster: two servers joined by the pub/sub adapter and by the sharded one; slots move. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { createAdapter, createShardedAdapter } from "@socket.io/redis-adapter";
import { Server } from "socket.io";
import { io as connect } from "socket.io-client";
import { next, startCluster, until } from "./support.mjs";

const ADAPTERS = { "pub/sub": createAdapter, "sharded pub/sub": createShardedAdapter };
const byNumber = ([a], [b]) => a - b;

for (const [kind, createFor] of Object.entries(ADAPTERS)) {
  describe(`socket.io on a cluster, over ${kind}`, () => {
    // A classic message has no slot and goes by way of any node: there is no order between two of them.
    const isOrdered = kind === "sharded pub/sub";
    const nodes = [];
    let cluster;

    before(async function () {
      this.timeout(30_000);
      cluster = await startCluster();
      for (let index = 0; index < 2; index++) {
        const publisher = cluster.connect({ shardedSubscribers: true });
        const subscriber = cluster.connect({ shardedSubscribers: true });
        const http = createServer();
        const io = new Server(http, { adapter: createFor(publisher, subscriber) });
        io.on("connection", (socket) => {
          socket.on("join", (room, done) => {
            socket.join(room);
            done();
          });
        });
        await new Promise((resolve) => http.listen(0, resolve));
        const visitor = connect(`http://127.0.0.1:${http.address().port}`, { transports: ["websocket"] });
        await next(visitor, "connect");
        nodes.push({ io, visitor, subscriber });
      }
      await until(async () => (await nodes[0].io.fetchSockets().catch(() => [])).length === 2);
    });

    after(async () => {
      for (const { io, visitor } of nodes.splice(0)) {
        visitor.close();
        await io.close();
      }
      await cluster.stop();
    });

    it("a broadcast reaches the visitors of both servers, once", async () => {
      for (const [from, { io }] of nodes.entries()) {
        const heard = nodes.map(() => []);
        for (const [at, { visitor }] of nodes.entries()) {
          visitor.on(`news ${from}`, (n, binary) => heard[at].push([n, Buffer.from(binary)]));
        }
        for (let n = 0; n < 100; n++) io.emit(`news ${from}`, n, Buffer.from([n, 0, 255]));
        await until(() => heard.every((list) => list.length >= 100));
        const expected = [...Array(100).keys()].map((n) => [n, Buffer.from([n, 0, 255])]);
        if (!isOrdered) for (const list of heard) list.sort(byNumber);
        assert.deepEqual(heard, [expected, expected]);
      }
    });

    it("reaches rooms at the other server, and acknowledgements come back", async () => {
      const [here, there] = nodes;
      await there.visitor.emitWithAck("join", "red");
      await until(async () => (await here.io.in("red").fetchSockets()).length === 1);
      const reds = [];
      there.visitor.on("paint", (n) => reds.push([n]));
      here.visitor.on("paint", () => reds.push(["wrong visitor"]));
      for (let n = 0; n < 20; n++) here.io.to("red").emit("paint", n);
      await until(() => reds.length >= 20);
      if (!isOrdered) reds.sort(byNumber);
      assert.deepEqual(
        reds,
        [...Array(20).keys()].map((n) => [n]),
      );
      for (const [index, { visitor }] of nodes.entries()) visitor.on("question", (answer) => answer(index));
      const answers = await here.io.timeout(5_000).emitWithAck("question");
      assert.deepEqual(answers.sort(), [0, 1]);
    });

    it("goes on after the channel's slot has moved", async () => {
      const { servers } = cluster;
      const [here, there] = nodes;
      const slot = await cluster.slotOf("socket.io#/#");
      const home = await servers.ownerOf(slot);
      const other = (await servers.masters()).find((master) => master !== home);
      const gaps = nodes.map(({ subscriber }) => next(subscriber, "gap"));
      await servers.moveSlot(slot, other);
      // Classic channels do not move.
      if (isOrdered) await Promise.all(gaps);
      const heard = next(there.visitor, "after the move");
      here.io.emit("after the move", 1);
      assert.deepEqual(await heard, [1]);
    });
  });
}
