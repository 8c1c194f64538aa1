/** Socket.IO: two servers joined by the pub/sub adapter, by the sharded one, by the streams adapter. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { createAdapter, createShardedAdapter } from "@socket.io/redis-adapter";
import { createAdapter as createStreamsAdapter } from "@socket.io/redis-streams-adapter";
import Redis from "ioredis";
import { Server } from "socket.io";
import { io as connect } from "socket.io-client";
import { address, next, until } from "./support.mjs";

const ADAPTERS = {
  "pub/sub": async () => {
    const publisher = new Redis(address);
    const subscriber = publisher.duplicate();
    return { clients: [publisher, subscriber], adapter: createAdapter(publisher, subscriber) };
  },
  "sharded pub/sub": async () => {
    const publisher = new Redis(address);
    const subscriber = publisher.duplicate();
    return { clients: [publisher, subscriber], adapter: createShardedAdapter(publisher, subscriber) };
  },
  streams: async () => {
    const client = new Redis(address);
    return { clients: [client], adapter: createStreamsAdapter(client) };
  },
};

for (const [kind, makeAdapter] of Object.entries(ADAPTERS)) {
  describe(`socket.io over ${kind}`, () => {
    const nodes = [];

    before(async () => {
      for (let index = 0; index < 2; index++) {
        const { clients, adapter } = await makeAdapter();
        const http = createServer();
        const io = new Server(http, { adapter });
        io.on("connection", (socket) => {
          socket.on("join", (room, done) => {
            socket.join(room);
            done();
          });
        });
        await new Promise((resolve) => http.listen(0, resolve));
        const visitor = connect(`http://127.0.0.1:${http.address().port}`, { transports: ["websocket"] });
        await next(visitor, "connect");
        nodes.push({ clients, io, visitor });
      }
      await until(async () => (await nodes[0].io.fetchSockets().catch(() => [])).length === 2);
    });

    after(async () => {
      for (const { clients, io, visitor } of nodes.splice(0)) {
        visitor.close();
        await io.close();
        for (const client of clients) client.disconnect();
      }
    });

    it("carries texts and binary data to the visitors of the other server", async () => {
      const [here, there] = nodes;
      const heard = next(there.visitor, "news");
      here.io.emit("news", { text: "äöü €" }, Buffer.from([0, 255, 13, 10]), [1, 2, 3]);
      const [message, binary, list] = await heard;
      assert.deepEqual(message, { text: "äöü €" });
      assert.deepEqual(Buffer.from(binary), Buffer.from([0, 255, 13, 10]));
      assert.deepEqual(list, [1, 2, 3]);
    });

    it("reaches rooms wherever their members are", async () => {
      const [here, there] = nodes;
      await there.visitor.emitWithAck("join", "red");
      await here.visitor.emitWithAck("join", "blue");
      const reds = [];
      const blues = [];
      there.visitor.on("paint", (n) => reds.push(n));
      here.visitor.on("paint", (n) => blues.push(n));
      await until(async () => (await here.io.in("red").fetchSockets()).length === 1);
      for (let n = 0; n < 20; n++) here.io.to("red").emit("paint", n);
      there.io.to("blue").emit("paint", "x");
      await until(() => reds.length === 20 && blues.length === 1);
      assert.deepEqual(reds, [...Array(20).keys()]);
      assert.deepEqual(blues, ["x"]);
    });

    it("waits for the acknowledgements of all servers", async () => {
      const [here, there] = nodes;
      here.visitor.on("question", (answer) => answer("here"));
      there.visitor.on("question", (answer) => answer("there"));
      const answers = await here.io.timeout(5_000).emitWithAck("question");
      assert.deepEqual(answers.sort(), ["here", "there"]);
    });

    it("moves and ends sockets of the other server, and servers talk to each other", async () => {
      const [here, there] = nodes;
      there.io.on("are you there", (name, answer) => answer(`yes, ${name}`));
      assert.deepEqual(await here.io.serverSideEmitWithAck("are you there", "A"), ["yes, A"]);
      here.io.in(there.visitor.id).socketsJoin("moved");
      await until(async () => (await here.io.in("moved").fetchSockets()).length === 1);
      const ended = next(there.visitor, "disconnect");
      here.io.in("moved").disconnectSockets();
      assert.deepEqual((await ended)[0], "io server disconnect");
    });
  });
}
