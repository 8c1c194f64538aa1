/** Managed HIMPORT fieldsets, on a scripted server: none at hand has the command. */

import { expect } from "chai";
import { Redis, ReplyError } from "../../src/index";
import { FakeServer, NO_REPLY, status } from "../support/fake-server";
import { closeClient, untilReady } from "../support/matrix";

const MISSING = "ERR no such fieldset";

describe("himportFieldsets", () => {
  let fake: FakeServer;
  let redis: Redis;
  let known: Set<string>;

  beforeEach(async () => {
    known = new Set();
    fake = await FakeServer.start((words) => {
      if (words[0] === "reset") {
        known.clear();
        return status("RESET");
      }
      if (words[0] !== "himport") return words[0] === "get" ? "v" : undefined;
      const [, subcommand, name = "", fieldset = ""] = words;
      if (subcommand === "PREPARE") known.add(name);
      else if (subcommand === "DISCARD") return known.delete(name) ? 1 : 0;
      else if (!known.has(fieldset)) return new Error(MISSING);
      return status("OK");
    });
    redis = new Redis({
      port: fake.port,
      host: fake.host,
      protocol: 2,
      disableClientInfo: true,
      retryStrategy: () => 1,
      himportFieldsets: [
        { name: "users", fields: ["name", "mail"] },
        { name: Buffer.from("logs"), fields: [Buffer.from("line")] },
      ],
    });
    await untilReady(redis);
  });
  afterEach(async () => {
    await closeClient(redis);
    await fake.stop();
  });

  const said = (): string[] => fake.received.splice(0).map((words) => words.join(" "));

  it("are prepared in the handshake of every connection, before INFO", async () => {
    const first = said();
    expect(first).to.deep.equal(["himport PREPARE users name mail", "himport PREPARE logs line", "info"]);
    redis.disconnect(true);
    await new Promise((resolve) => redis.once("ready", resolve));
    expect(said()).to.deep.equal(first);
  });

  it("a SET for a forgotten one goes again behind its PREPARE, once", async () => {
    said();
    known.clear();
    expect(await redis.himport("SET", "k", "users", "a", "b")).to.equal("OK");
    expect(said()).to.deep.equal([
      "himport SET k users a b",
      "himport PREPARE users name mail",
      "himport SET k users a b",
    ]);
    expect(await redis.himport("SET", "k", Buffer.from("logs"), "x")).to.equal("OK");
  });

  it("in pipelines too, each result in its place", async () => {
    known.clear();
    const rows = await redis.pipeline().get("a").himport("SET", "k", "users", "a", "b").get("b").exec();
    expect(rows).to.deep.equal([
      [null, "v"],
      [null, "OK"],
      [null, "v"],
    ]);
  });

  it("others are left to their callers, and a DISCARD is healed", async () => {
    const error = await redis.himport("SET", "k", "mine", "a").catch((reason: Error) => reason);
    expect((error as Error).message).to.equal(MISSING);
    expect(await redis.himport("DISCARD", "users")).to.equal(1);
    expect(await redis.himport("SET", "k", "users", "a", "b")).to.equal("OK");
  });

  it("RESET prepares them again", async () => {
    await redis.reset();
    said();
    expect(await redis.himport("SET", "k", "users", "a", "b")).to.equal("OK");
    expect(said().filter((line) => line.includes("SET"))).to.deep.equal(["himport SET k users a b"]);
  });

  it("a PREPARE that fails is an error event and does not hold up the connection", async () => {
    fake.handler = (words) => (words[0] === "himport" ? new Error("ERR denied") : undefined);
    const errors: string[] = [];
    redis.on("error", (error: Error) => errors.push(error.message));
    redis.disconnect(true);
    await new Promise((resolve) => redis.once("ready", resolve));
    expect(errors).to.deep.equal(["ERR denied", "ERR denied"]);
  });

  describe("whose PREPARE has failed", () => {
    let refuses: boolean;

    beforeEach(async () => {
      refuses = true;
      const answer = fake.handler;
      fake.handler = (words, connection) =>
        refuses && words[0] === "himport" && words[1] === "PREPARE"
          ? new Error("ERR denied")
          : answer(words, connection);
      redis.on("error", () => {});
      known.clear();
      redis.disconnect(true);
      await new Promise((resolve) => redis.once("ready", resolve));
      said();
    });

    it("a SET goes again behind its PREPARE", async () => {
      refuses = false;
      expect(await redis.himport("SET", "k", "users", "a", "b")).to.equal("OK");
      expect(said()).to.deep.equal([
        "himport SET k users a b",
        "himport PREPARE users name mail",
        "himport SET k users a b",
      ]);
      expect(await redis.himport("SET", "k", "users", "c", "d")).to.equal("OK");
      expect(said(), "prepared once").to.deep.equal(["himport SET k users c d"]);
    });

    it("SETs of one moment share a PREPARE", async () => {
      refuses = false;
      const sets = ["1", "2", "3"].map((key) => redis.himport("SET", key, "users", "a", "b"));
      expect(await Promise.all(sets)).to.deep.equal(["OK", "OK", "OK"]);
      expect(said().slice(3)).to.deep.equal([
        "himport PREPARE users name mail",
        "himport SET 1 users a b",
        "himport SET 2 users a b",
        "himport SET 3 users a b",
      ]);
    });

    it("a SET rejects with the error of its PREPARE; the next one tries again", async () => {
      const set = redis.himport("SET", "k", "users", "a", "b");
      const error = await set.then(
        () => null,
        (reason: ReplyError) => reason,
      );
      expect(error).to.be.instanceOf(ReplyError).and.include({ message: "ERR denied" });
      expect(said()).to.deep.equal(["himport SET k users a b", "himport PREPARE users name mail"]);
      refuses = false;
      expect(await redis.himport("SET", "k", "users", "a", "b")).to.equal("OK");
    });

    it("so does one that the server had forgotten", async () => {
      refuses = false;
      await redis.himport("SET", "k", "users", "a", "b");
      known.clear();
      refuses = true;
      said();
      const error = await redis.himport("SET", "k", "users", "a", "b").catch((reason: Error) => reason);
      expect((error as Error).message).to.equal("ERR denied");
      expect(said()).to.deep.equal(["himport SET k users a b", "himport PREPARE users name mail"]);
    });

    it("in a pipeline each has its own error, and its neighbours their replies", async () => {
      const rows = await redis.pipeline().get("a").himport("SET", "k", "users", "a", "b").get("b").exec();
      expect(rows?.map(([reason, value]) => reason?.message ?? value)).to.deep.equal([
        "v",
        "ERR denied",
        "v",
      ]);
    });

    it("a SET that waits for its PREPARE when the client ends is told so", async () => {
      const isAsked = new Promise<void>((resolve) => {
        fake.handler = ([, subcommand]) => {
          if (subcommand !== "PREPARE") return new Error(MISSING);
          resolve();
          return NO_REPLY;
        };
      });
      const set = redis.himport("SET", "k", "users", "a", "b").catch((reason: Error) => reason);
      await isAsked;
      redis.disconnect();
      expect(await set).to.include({ code: "CONNECTION_CLOSED" });
    });

    it("a SET that waits for its PREPARE when the line is lost goes over the next one", async () => {
      const answer = fake.handler;
      fake.handler = (words, connection) => {
        if (words[1] !== "PREPARE") return answer(words, connection);
        fake.handler = answer;
        refuses = false;
        connection.socket.destroy();
        return NO_REPLY;
      };
      expect(await redis.himport("SET", "k", "users", "a", "b")).to.equal("OK");
    });
  });
});
