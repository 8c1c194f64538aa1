/**
 * Guarantee 2: a reply belongs to its command, or the connection dies. Garbage, replies nobody
 * asked for and absurd announcements end the connection with a clear error: what was written
 * fails, the client reconnects, and no reply ever reaches another caller.
 */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { Redis } from "../../src/index";
import { type FakeConnection, FakeServer, RawReply, status } from "../support/fake-server";
import { FaultProxy } from "../support/fault-proxy";
import { closeClient, untilReady } from "../support/matrix";
import { sharedServer } from "../support/shared-servers";

const GARBAGE: [name: string, bytes: string | Buffer][] = [
  ["an unknown type", "@hello\r\n"],
  ["a negative length", "$-2\r\n"],
  ["a length that is no number", "$1x\r\nab\r\n"],
  ["an empty length", "$\r\n"],
  ["a missing terminator", "$3\r\nabcdef\r\n"],
  ["an integer without digits", ":\r\n"],
  ["an integer with letters", ":12a\r\n"],
  ["a bulk of 10 GiB", "$10737418240\r\n"],
  ["more elements than there may be", "*2147483648\r\n"],
  ["a negative array length", "*-7\r\n"],
  ["binary noise", Buffer.from([0, 255, 13, 10, 7, 1, 2, 3])],
  ["an HTTP answer", "HTTP/1.1 400 Bad Request\r\n\r\n"],
  ["a 100,000-level nest", "*1\r\n".repeat(100_000)],
];

describe("a reply belongs to its command", () => {
  for (const [name, bytes] of GARBAGE) {
    it(`${name} fails what was written and reconnects`, async () => {
      const fake = await FakeServer.start((words, connection) => {
        if (words[0] !== "get") return undefined;
        return connection.number === 1 ? new RawReply(bytes) : `fresh ${words[1]}`;
      });
      const redis = new Redis({ host: fake.host, port: fake.port, retryStrategy: () => 1 });
      const errors: Error[] = [];
      redis.on("error", (error: Error) => errors.push(error));
      try {
        const failures = await Promise.all(
          ["a", "b"].map((key) =>
            redis.get(key).then(
              () => null,
              (error: Error & { code?: string }) => error,
            ),
          ),
        );
        expect(failures.map((error) => error?.code)).to.deep.equal(["PROTOCOL", "PROTOCOL"]);
        expect(errors).to.have.length(1);
        expect(await redis.get("c")).to.equal("fresh c");
        expect(fake.connectionCount).to.equal(2);
      } finally {
        await closeClient(redis);
        await fake.stop();
      }
    });
  }

  const PUSHES: [name: string, bytes: string, message: RegExp][] = [
    ["without a payload", ">2\r\n$7\r\nmessage\r\n$1\r\nx\r\n", /without its payload/],
    ["whose channel is a number", ">3\r\n$7\r\nmessage\r\n:1\r\n$1\r\nx\r\n", /without a name/],
    ["whose pattern is null", ">4\r\n$8\r\npmessage\r\n_\r\n$1\r\na\r\n$1\r\nb\r\n", /without a name/],
    ["that confirms a number", ">3\r\n$9\r\nsubscribe\r\n:5\r\n:1\r\n", /without a name/],
    ["that takes a list away", ">3\r\n$12\r\nsunsubscribe\r\n*0\r\n:1\r\n", /without a name/],
  ];
  for (const [name, bytes, message] of PUSHES) {
    it(`a push ${name} ends the connection, and nothing is thrown`, async () => {
      const fake = await FakeServer.start((words, connection) => {
        if (words[0] === "hello") return new RawReply("%1\r\n$2\r\nid\r\n:5\r\n");
        if (words[0] !== "get") return undefined;
        return connection.number === 1 ? new RawReply(`${bytes}$3\r\nold\r\n`) : "new";
      });
      const redis = new Redis({ host: fake.host, port: fake.port, retryStrategy: () => 1 });
      const errors: string[] = [];
      redis.on("error", (error: Error) => errors.push(error.message));
      redis.on("message", () => {});
      redis.on("pmessage", () => {});
      try {
        const failure = await redis.get("a").catch((error: Error) => error.message);
        expect(failure).to.match(message);
        expect(errors).to.deep.equal([failure]);
        expect(await redis.get("a")).to.equal("new");
      } finally {
        await closeClient(redis);
        await fake.stop();
      }
    });
  }

  it("invalidations of client tracking over RESP2 are messages without text", async () => {
    const fake = await FakeServer.start((words) => {
      if (words[0] !== "subscribe") return undefined;
      const confirmation = "*3\r\n$9\r\nsubscribe\r\n$1\r\nt\r\n:1\r\n";
      const flush = "*3\r\n$7\r\nmessage\r\n$1\r\nt\r\n*-1\r\n";
      return new RawReply(`${confirmation}${flush}*3\r\n$7\r\nmessage\r\n$1\r\nt\r\n*1\r\n$1\r\nk\r\n`);
    });
    const redis = new Redis({ host: fake.host, port: fake.port, protocol: 2 });
    const texts: unknown[] = [];
    redis.on("message", (_channel: string, text: string) => texts.push(text));
    try {
      await redis.subscribe("t");
      while (texts.length < 2) await new Promise((resolve) => setImmediate(resolve));
      expect(texts).to.deep.equal(["", "k"]);
    } finally {
      await closeClient(redis);
      await fake.stop();
    }
  });

  it("a reply nobody asked for ends the connection", async () => {
    const connections: FakeConnection[] = [];
    const fake = await FakeServer.start((words, connection) => {
      connections[connection.number] = connection;
      return words[0] === "get" ? `${words[1]} on ${connection.number}` : undefined;
    });
    const redis = new Redis({ host: fake.host, port: fake.port, retryStrategy: () => 1 });
    const errors: Error[] = [];
    redis.on("error", (error: Error) => errors.push(error));
    try {
      await untilReady(redis);
      expect(await redis.get("a")).to.equal("a on 1");
      const again = new Promise((resolve) => redis.once("reconnecting", resolve));
      connections[1]?.socket.write("+nobody asked\r\n");
      await again;
      expect(errors[0]?.message).to.match(/^Command queue state error\. .* Last reply: "nobody asked"/);
      expect(await redis.get("b")).to.equal("b on 2");
    } finally {
      await closeClient(redis);
      await fake.stop();
    }
  });

  it("late replies of timed-out commands are dropped and shift nothing", async () => {
    const held: (() => void)[] = [];
    const fake = await FakeServer.start((words, connection) => {
      if (words[0] !== "get") return undefined;
      held.push(() => connection.socket.write(`$${words[1]?.length}\r\n${words[1]}\r\n`));
      return new RawReply("");
    });
    const redis = new Redis({ host: fake.host, port: fake.port, commandTimeout: 300 });
    try {
      await redis.ping();
      const late = await Promise.all(
        ["k1", "k2"].map((key) => redis.get(key).catch((error: Error) => error.message)),
      );
      expect(late).to.deep.equal(["Command timed out", "Command timed out"]);
      const third = redis.get("k3");
      while (held.length < 3) await new Promise((resolve) => setImmediate(resolve));
      for (const answer of held) answer();
      expect(await third).to.equal("k3");
    } finally {
      await closeClient(redis);
      await fake.stop();
    }
  });

  describe("on a real server", () => {
    let server: ServerProcess;
    before(async () => {
      server = await sharedServer(ServerKind.Redis);
    });

    for (const protocol of [2, 3] as const) {
      it(`values keep their keys over one-byte pieces, pushes in between, protocol ${protocol}`, async () => {
        const proxy = await FaultProxy.start({ host: server.host, port: server.port });
        proxy.rechunk(1);
        const options = { host: proxy.host, port: proxy.port, protocol };
        const redis = new Redis(options);
        const subscriber = protocol === 3 ? redis : new Redis(options);
        const messages: string[] = [];
        subscriber.on("message", (_channel: string, text: string) => messages.push(text));
        try {
          await subscriber.subscribe("match:ch");
          const keys = Array.from({ length: 60 }, (_, i) => `match:${i}`);
          await Promise.all(keys.map((key) => redis.set(key, `${key} – ☃`)));
          const values = await Promise.all(
            keys.map(async (key, i) => {
              if (i % 5 === 0) await redis.publish("match:ch", key);
              return redis.get(key);
            }),
          );
          expect(values).to.deep.equal(keys.map((key) => `${key} – ☃`));
          expect(messages).to.have.length(12);
        } finally {
          await closeClient(redis);
          if (subscriber !== redis) await closeClient(subscriber);
          await proxy.stop();
        }
      });
    }

    it("HELLO switches the protocol of a live connection without losing a reply", async () => {
      const redis = new Redis({ host: server.host, port: server.port });
      try {
        await redis.hset("match:h", "f", "v");
        const [, before2, , after2, , after3] = await Promise.all([
          redis.ping(),
          redis.hgetall("match:h"),
          redis.hello(2),
          redis.hgetall("match:h"),
          redis.hello(3),
          redis.hgetall("match:h"),
        ]);
        expect([before2, after2, after3]).to.deep.equal([{ f: "v" }, { f: "v" }, { f: "v" }]);
      } finally {
        await closeClient(redis);
      }
    });
  });

  it("status replies to unknown commands reach their callers in order", async () => {
    const fake = await FakeServer.start((words) =>
      words[0] === "echo" ? status(String(words[1])) : undefined,
    );
    const redis = new Redis({ host: fake.host, port: fake.port });
    try {
      const said = await Promise.all(Array.from({ length: 200 }, (_, i) => redis.echo(`n${i}`)));
      expect(said).to.deep.equal(Array.from({ length: 200 }, (_, i) => `n${i}`));
    } finally {
      await closeClient(redis);
      await fake.stop();
    }
  });
});
