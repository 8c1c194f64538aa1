/** Managed HIMPORT fieldsets, on a scripted server: none at hand has the command. */

import { expect } from "chai";
import { Redis } from "../../src/index";
import { FakeServer, status } from "../support/fake-server";
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
});
