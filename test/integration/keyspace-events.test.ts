/** Readers of keyspace notifications of one server: which events they have, and servers that send none. */

import { expect } from "chai";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { type KeyspaceEntry, type KeyspaceEvents, Redis } from "../../src/index";
import { matrix } from "../support/matrix";
import { codeOf, failureOf } from "../support/outcome";

const PAIR = { autoPipelining: [false], replyMappings: ["legacy", "resp3"] } as const;
const RESP3 = { ...PAIR, protocols: [3] } as const;

const turn = (server: ServerProcess, flags: string): Promise<unknown> =>
  server.command("CONFIG", "SET", "notify-keyspace-events", flags);

/** The server sends notifications during the test only. */
async function withFlags(server: ServerProcess, flags: string, body: () => Promise<void>): Promise<void> {
  await turn(server, flags);
  try {
    await body();
  } finally {
    await turn(server, "");
  }
}

async function take(reader: KeyspaceEvents, count: number): Promise<string[]> {
  const taken: string[] = [];
  while (taken.length < count) {
    const { value, done } = await reader.next();
    if (done) throw new Error("The reader has ended");
    taken.push(textOf(value));
  }
  return taken;
}

function textOf(entry: KeyspaceEntry): string {
  return entry.kind === "gap" ? `gap ${entry.cause}` : `${entry.event} ${entry.key} in ${entry.db}`;
}

describe("keyspaceEvents()", () => {
  matrix("has the events of the keys that match", PAIR, async ({ redis, connect, server }) => {
    await withFlags(server, "KA", async () => {
      const writer = connect();
      const reader = redis.keyspaceEvents({ keys: ["user:*", "cart"] });
      const sets = redis.keyspaceEvents({ keys: "*", events: ["set", "expire"] });
      await Promise.all([reader.ready, sets.ready]);
      await writer
        .multi()
        .set("user:1", "a")
        .set("other", "b")
        .expire("user:1", 100)
        .del("user:1")
        .lpush("cart", 1)
        .exec();
      expect(await take(reader, 4)).to.deep.equal([
        "set user:1 in 0",
        "expire user:1 in 0",
        "del user:1 in 0",
        "lpush cart in 0",
      ]);
      expect(await take(sets, 3)).to.deep.equal(["set user:1 in 0", "set other in 0", "expire user:1 in 0"]);
      await reader.close();
      expect(await server.command("PUBSUB", "NUMPAT")).to.equal(1);
      await sets.close();
      expect(await server.command("PUBSUB", "NUMPAT")).to.equal(0);
    });
  });

  matrix("asks for single events only, where no keys are named", PAIR, async ({ redis, connect, server }) => {
    await withFlags(server, "EA", async () => {
      const reader = redis.keyspaceEvents({ events: ["del", "expired"], db: 2 });
      await reader.ready;
      expect(await server.command("PUBSUB", "CHANNELS", "__key*")).to.have.members([
        "__keyevent@2__:del",
        "__keyevent@2__:expired",
      ]);
      const writer = connect({ db: 2 });
      await writer.set("a", 1);
      await writer.pexpire("a", 1);
      await writer.set("b", 1);
      await writer.del("b");
      const taken = await take(reader, 2);
      expect(taken).to.have.members(["expired a in 2", "del b in 2"]);
      await reader.close();
    });
  });

  matrix(
    "respects keyPrefix, byte for byte, and the database of the client",
    PAIR,
    async ({ connect, server }) => {
      await withFlags(server, "KEA", async () => {
        const options = { keyPrefix: "p[1]*:", db: 1 };
        const [redis, writer, stranger] = [connect(options), connect(options), connect({ db: 1 })];
        const heard: string[] = [];
        const all = redis.keyspaceEvents({ events: "set" });
        const listening = all.listen((entry) => heard.push(textOf(entry)));
        const some = redis.keyspaceEvents({ keys: "k?" });
        await Promise.all([all.ready, some.ready]);
        await stranger.mset("p1x:k1", 1, "p[1]*:k1", 1);
        await writer.set("k2", 1);
        expect(await take(some, 2)).to.deep.equal(["set k1 in 1", "set k2 in 1"]);
        expect(heard).to.deep.equal(["set k1 in 1", "set k2 in 1"]);
        await Promise.all([some.close(), all.close()]);
        await listening;
      });
    },
  );

  matrix("fails clearly if the server sends no such events", PAIR, async ({ redis, server }) => {
    for (const [flags, options] of [
      ["", {}],
      ["E$", {}],
      ["K$", { events: "set" }],
      ["K", {}],
    ] as const) {
      await withFlags(server, flags, async () => {
        const reader = redis.keyspaceEvents(options);
        const error = await failureOf(reader.ready);
        expect(error.code).to.equal("KEYSPACE_EVENTS_OFF");
        expect(error.message).to.include(`${server.host}:${server.port}`);
        expect(await codeOf(reader.next())).to.equal("KEYSPACE_EVENTS_OFF");
        expect((await reader.next()).done).to.equal(true);
      });
    }
    expect(await server.command("PUBSUB", "NUMPAT")).to.equal(0);
  });

  matrix("works without the permission to read the setting", PAIR, async ({ redis, connect, server }) => {
    await redis.acl("SETUSER", "quiet", "on", ">pw", "~*", "&*", "+@all", "-config");
    try {
      await withFlags(server, "KA", async () => {
        const reader = connect({ username: "quiet", password: "pw" }).keyspaceEvents();
        await reader.ready;
        await redis.set("k", 1);
        expect(await take(reader, 1)).to.deep.equal(["set k in 0"]);
        await reader.close();
      });
    } finally {
      await redis.acl("DELUSER", "quiet");
    }
  });

  matrix(
    "has a gap after a lost connection, and ends if there are no events behind it",
    RESP3,
    async (context) => {
      const { redis, connect, server } = context;
      await withFlags(server, "KA", async () => {
        const writer = connect();
        const reader = redis.keyspaceEvents({ keys: "k*" });
        await reader.ready;
        const own = Number(await redis.client("ID"));
        await writer.client("KILL", "ID", own);
        expect(await take(reader, 1)).to.deep.equal(["gap reconnect"]);
        await writer.set("k1", 1);
        expect(await take(reader, 1)).to.deep.equal(["set k1 in 0"]);
        await turn(server, "");
        await writer.client("KILL", "ID", Number(await redis.client("ID")));
        expect(await take(reader, 1)).to.deep.equal(["gap reconnect"]);
        expect(await codeOf(reader.next())).to.equal("KEYSPACE_EVENTS_OFF");
      });
    },
  );

  matrix("leaves nothing behind when it is closed before it has begun", PAIR, async ({ redis, server }) => {
    await withFlags(server, "KA", async () => {
      const reader = redis.keyspaceEvents();
      await reader.close();
      await reader.ready;
      await redis.ping();
      expect([(await reader.next()).done, await server.command("PUBSUB", "NUMPAT")]).to.deep.equal([true, 0]);
    });
  });

  it("refuses invalid options", () => {
    const redis = new Redis({ lazyConnect: true });
    const open = (options: object) => () => redis.keyspaceEvents(options);
    expect(open({ key: "a" })).to.throw(
      'Unknown option "key" of keyspaceEvents(): expected one of keys, events, db',
    );
    expect(open({ keys: [] })).to.throw("Invalid keys [list] of keyspaceEvents()");
    expect(open({ events: 1 })).to.throw('Invalid events "1" of keyspaceEvents()');
    expect(open({ db: -1 })).to.throw('Invalid db "-1" of keyspaceEvents()');
    expect(open({ maxBuffered: 0 })).to.throw("Invalid maxBuffered");
    redis.disconnect();
  });
});
