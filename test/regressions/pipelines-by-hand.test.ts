/** Pipelines made with `new Pipeline(client)`, and commands that are queued or answered by hand. */

import { expect } from "chai";
import { Command, Pipeline, type Redis } from "../../src/index";
import { ClusterFixture } from "../support/cluster-fixture";
import { matrix } from "../support/matrix";
import { ServerFixture } from "../support/server-fixture";

type Scripted = { twice(key: string, by: number): Scripted; exec(): Promise<unknown> };
/** The object that `pipeline()` returns at run time. */
const pipelineOf = (client: Redis): Pipeline => client.pipeline() as unknown as Pipeline;

/** A `sendCommand` as applications replace it. */
type Answerable = { resolve(raw: unknown): void; promise: Promise<unknown> };
const SCRIPT = { lua: "return redis.call('incrby', KEYS[1], ARGV[1] * 2)", numberOfKeys: 1 };

function answerWith(redis: Redis, raw: unknown): void {
  redis.sendCommand = (command) => {
    (command as unknown as Answerable).resolve(raw);
    return (command as unknown as Answerable).promise;
  };
}

matrix("new Pipeline(client) works like client.pipeline()", {}, async ({ redis }) => {
  redis.defineCommand("twice", SCRIPT);
  const pipeline = new Pipeline(redis);
  pipeline.set("a", "1").get("a");
  (pipeline as unknown as Scripted).twice("a", 2);
  expect(await pipeline.exec()).to.deep.equal([
    [null, "OK"],
    [null, "1"],
    [null, 5],
  ]);
  class Mine extends Pipeline {}
  const mine = new Mine(redis);
  (mine as unknown as Scripted).twice("a", 1);
  expect(await mine.exec()).to.deep.equal([[null, 7]]);
});

for (const form of ["pipeline", "multi"] as const) {
  matrix(`commands pass a sendCommand that is replaced on one ${form}`, {}, async ({ redis }) => {
    const pipeline = redis[form]() as unknown as Pipeline;
    pipeline.set("a", "1");
    const seen: string[] = [];
    const { sendCommand } = pipeline;
    pipeline.sendCommand = function (command) {
      seen.push([command.name, ...command.args].join(" "));
      return sendCommand.call(this, command);
    };
    pipeline.get("a");
    pipeline.addBatch([["incr", "a"]]);
    pipeline.call("ping");
    expect(await pipeline.exec()).to.deep.equal([
      [null, "OK"],
      [null, "1"],
      [null, 2],
      [null, "PONG"],
    ]);
    expect(seen).to.deep.equal(["get a", "incr a", "ping", ...(form === "multi" ? ["exec"] : [])]);
  });
}

matrix("a pipeline queues commands that were built by hand", {}, async ({ redis }) => {
  const pipeline = pipelineOf(redis);
  const get = new Command("get", ["a"], { replyEncoding: "utf8" });
  const wrong = new Command("incr", ["text"]);
  pipeline.set("a", "1").set("text", "x");
  pipeline.sendCommand(get).sendCommand(wrong).multi();
  const member = new Command("incr", ["a"]);
  pipeline.sendCommand(member);
  void pipeline.exec();
  expect([get.pipelineIndex, get.inTransaction]).to.deep.equal([2, false]);
  expect([member.pipelineIndex, member.inTransaction]).to.deep.equal([5, true]);
  const rows = await pipeline.exec();
  expect(rows?.[2]).to.deep.equal([null, "1"]);
  expect(rows?.[3]?.[0]).to.be.an("error").with.property("message").that.includes("not an integer");
  expect(rows?.at(-1)).to.deep.equal([null, [2]]);
  expect(await get.promise).to.equal("1");
  expect(await member.promise).to.deep.equal(Buffer.from("QUEUED"));
  const reused = await pipelineOf(redis).sendCommand(get).get("a").exec();
  expect(reused?.[0]?.[0]).to.have.property("code", "INVALID_ARGUMENT");
  expect(reused?.[1]).to.deep.equal([null, "2"]);
});

matrix("a pipeline has its own scripts and commands", {}, async ({ redis }) => {
  const pipeline = pipelineOf(redis);
  pipeline.defineCommand("twice", SCRIPT);
  pipeline.addBuiltinCommand("echo");
  (pipeline as unknown as Scripted).twice("a", 2);
  pipeline.echo("x");
  pipeline.send_command("echo", "y");
  const { string, buffer } = pipeline.createBuiltinCommand("echo");
  string.call(pipeline, "z");
  buffer.call(pipeline, "z");
  expect(await pipeline.exec()).to.deep.equal([
    [null, 4],
    [null, "x"],
    [null, "y"],
    [null, "z"],
    [null, Buffer.from("z")],
  ]);
  expect(pipeline.getBuiltinCommands()).to.deep.equal(redis.getBuiltinCommands());
  expect("twice" in redis.pipeline()).to.equal(false);
});

describe("a reply that a replaced sendCommand gives", () => {
  const fixture = new ServerFixture().install();

  it("takes the shape that the call asked for", async () => {
    const redis = fixture.connectDirectly();
    answerWith(redis, Buffer.from("text"));
    expect(await redis.get("a")).to.equal("text");
    expect(await redis.getBuffer("a")).to.deep.equal(Buffer.from("text"));
    const pairs = ["f", "1", "g", "2"].map((one) => Buffer.from(one));
    answerWith(redis, pairs);
    expect(await redis.hgetall("h")).to.deep.equal({ f: "1", g: "2" });
    expect(pairs[0]).to.deep.equal(Buffer.from("f"));
    answerWith(redis, ["0", [Buffer.from("a"), [Buffer.from("b"), 1, null]]]);
    expect(await redis.scan("0")).to.deep.equal(["0", ["a", ["b", 1, null]]]);
    answerWith(redis, Buffer.from("row"));
    expect(await redis.pipeline().get("a").getBuffer("a").exec()).to.deep.equal([
      [null, "row"],
      [null, Buffer.from("row")],
    ]);
  });
});

describe("new Pipeline(cluster)", () => {
  const clusters = new ClusterFixture().install();

  it("works like cluster.pipeline()", async () => {
    const cluster = clusters.connect();
    cluster.defineCommand("twice", SCRIPT);
    const pipeline = new Pipeline(cluster);
    pipeline.set("a", "1");
    pipeline.sendCommand(new Command("get", ["none"], { replyEncoding: "utf8" }));
    (pipeline as unknown as Scripted).twice("a", 2);
    expect(await pipeline.exec()).to.deep.equal([
      [null, "OK"],
      [null, null],
      [null, 5],
    ]);
  });
});

describe("a replaced Pipeline.prototype.sendCommand", () => {
  const fixture = new ServerFixture().install();
  const { sendCommand } = Pipeline.prototype;
  const seen: string[] = [];
  beforeEach(() => {
    seen.length = 0;
    Pipeline.prototype.sendCommand = function (this: Pipeline, command: Command) {
      seen.push(command.name);
      if (command.name === "ping") return this;
      if (command.name === "incr") command.args[0] = "replaced";
      if (command.name === "append") throw new Error("not this one");
      return sendCommand.call(this, command);
    };
  });
  afterEach(() => {
    Pipeline.prototype.sendCommand = sendCommand;
  });

  it("sees every command, may change it, keep it or throw", async () => {
    const redis = fixture.connect();
    let told: unknown = null;
    const rows = await redis
      .pipeline()
      .set("a", 1)
      .ping()
      .incr("a")
      .append("a", "x")
      .hgetall("h", (_error, reply) => {
        told = reply;
      })
      .exec();
    expect(rows?.map(([error, value]) => error?.message ?? value)).to.deep.equal([
      "OK",
      1,
      "not this one",
      {},
    ]);
    expect(told).to.deep.equal({});
    expect(seen).to.deep.equal(["set", "ping", "incr", "append", "hgetall"]);
    expect(await redis.mget("a", "replaced")).to.deep.equal(["1", "1"]);
  });

  it("sees those of transactions, scripts and lists", async () => {
    const redis = fixture.connect({ scripts: { one: { lua: "return 1", numberOfKeys: 0 } } });
    expect(await redis.multi().set("a", 1).get("a").exec()).to.deep.equal([
      [null, "OK"],
      [null, "1"],
    ]);
    expect(seen).to.include.members(["set", "get"]);
    seen.length = 0;
    const pipeline = redis.pipeline([["get", "a"]]) as unknown as Pipeline & { one(): Pipeline };
    expect(await pipeline.one().exec()).to.deep.equal([
      [null, "1"],
      [null, 1],
    ]);
    expect(seen).to.deep.equal(["get", "evalsha"]);
  });
});
