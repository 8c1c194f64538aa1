/**
 * Names that applications give to scripts, added commands and methods of subclasses never hit
 * the inside of a client: every name found on a client or pipeline is either refused, or taken
 * and harmless.
 */

import { expect } from "chai";
import { RESERVED_NAMES } from "../../src/client/reserved-names";
import { Cluster, Redis } from "../../src/index";
import { ClusterFixture } from "../support/cluster-fixture";
import { ServerFixture } from "../support/server-fixture";

const LUA = "return 'from the script'";
/** Names of earlier insides, and of what a maintainer might call the next ones. */
const ENGLISH = [
  "leave makePipeline sendBatch makePort initialize callByName dispatchDirectly isUnwatched openTransaction",
  "scriptMethod ownPipelineClass untilReady makeOwner dispatch dispatchBatch execute issue limit link events",
  "wiring router chain tracer parts run queue queueScript queueCommand append start abort record finish settle",
  "fail port batch commands rows outcome left prepare observe with bulk end nodes duplicate monitor call callBuffer",
  "send_command addBatch length promise redis isPipeline key keys name args retry reset close open write flush",
]
  .join(" ")
  .split(" ");

/** Every string-keyed name of an object and its prototypes. */
function namesOf(object: object): string[] {
  const names = new Set<string>();
  for (let one: object | null = object; one !== null; one = Object.getPrototypeOf(one) as object | null) {
    for (const name of Object.getOwnPropertyNames(one)) names.add(name);
  }
  return [...names];
}

function candidates(client: Redis | Cluster): string[] {
  const commands = new Set(client.getBuiltinCommands().flatMap((name) => [name, `${name}Buffer`]));
  // A program that takes the name of a command means to replace it.
  const kept = new Set(["multi", "exec", "quit"]);
  const names = [...namesOf(client), ...namesOf(client.pipeline()), ...ENGLISH];
  return [...new Set(names)].filter((name) => !commands.has(name) || kept.has(name));
}

/** Defines every name that may be defined, and returns those that were refused. */
function defineAll(client: Redis | Cluster): string[] {
  return candidates(client).filter((name) => {
    try {
      client.defineCommand(name, { lua: LUA, numberOfKeys: 0 });
      return false;
    } catch (error) {
      expect(error).to.include({ name: "ReservedNameError", code: "RESERVED_NAME" });
      expect(() => client.addBuiltinCommand(name)).to.throw(`"${name}"`);
      return true;
    }
  });
}

/** Uses a client in every way that its inside takes part in. */
async function use(client: Redis | Cluster): Promise<void> {
  expect(await client.set("{k}a", "1")).to.equal("OK");
  expect(await client.pipeline().get("{k}a").incr("{k}n").exec()).to.deep.equal([
    [null, "1"],
    [null, 1],
  ]);
  expect(await client.pipeline([["get", "{k}a"]]).exec()).to.deep.equal([[null, "1"]]);
  expect(await client.multi().incr("{k}n").get("{k}a").exec()).to.deep.equal([
    [null, 2],
    [null, "1"],
  ]);
  const inline = await client.pipeline().multi().incr("{k}n").exec().get("{k}a").exec();
  expect(inline?.slice(-2)).to.deep.equal([
    [null, [3]],
    [null, "1"],
  ]);
  expect(await client.multi([["incr", "{k}n"]]).exec()).to.deep.equal([[null, 4]]);
  await client.sadd("{k}set", "x");
  const members: string[] = [];
  const scan = Redis.prototype.sscanStream.call(client as Redis, "{k}set");
  for await (const chunk of scan) members.push(...(chunk as string[]));
  expect(members).to.deep.equal(["x"]);
  expect(client.autoPipelineQueueSize).to.equal(0);
}

describe("names that applications choose", () => {
  const fixture = new ServerFixture().install();
  const clusters = new ClusterFixture().install();

  const connect = (options: object = {}): Redis => fixture.connectDirectly(options);

  it("every name of a client is refused as a script, or harmless", async () => {
    const redis = connect();
    const refused = defineAll(redis);
    for (const name of refused) expect(RESERVED_NAMES.has(name), name).to.equal(true);
    await use(redis);
    const ended = new Promise<void>((resolve) => redis.once("end", () => resolve()));
    expect(await redis.quit()).to.equal("OK");
    await ended;
  });

  it("the same with scripts of the options, auto-pipelining and a lazy client", async () => {
    const taken = candidates(fixture.control).filter((name) => !RESERVED_NAMES.has(name));
    const scripts = Object.fromEntries(taken.map((name) => [name, { lua: LUA, numberOfKeys: 0 }]));
    const redis = connect({ scripts, enableAutoPipelining: true, lazyConnect: true });
    await use(redis);
    expect(await redis.quit({ timeout: 1000 })).to.deep.equal({ isDrained: true, unanswered: 0, unsent: 0 });
    const idle = connect({ scripts, lazyConnect: true });
    expect(await idle.quit()).to.equal("OK");
  });

  it("the same on a cluster", async () => {
    const client = clusters.connect();
    const refused = defineAll(client);
    for (const name of refused) expect(RESERVED_NAMES.has(name), name).to.equal(true);
    await use(client);
    const scan = Cluster.prototype.scanStream.call(client, { match: "{k}*" });
    for await (const chunk of scan) expect(chunk).to.be.an("array");
    expect(await client.quit()).to.equal("OK");
  });

  it("a method of a subclass may have any name that is not public", async () => {
    const known = new Set([...RESERVED_NAMES, ...namesOf(Redis.prototype)]);
    class Mine extends Redis {}
    for (const name of ENGLISH.filter((one) => !known.has(one))) {
      Object.defineProperty(Mine.prototype, name, {
        value: () => {
          throw new Error(`The method ${name} of the subclass was called`);
        },
      });
    }
    const { host, port } = fixture.server;
    const redis = new Mine({ host, port });
    await use(redis);
    expect(await redis.quit()).to.equal("OK");
  });

  it("refuses names that make a promise of the client, or silence it", () => {
    const redis = connect({ lazyConnect: true });
    for (const name of ["then", "emit", "on", "options", "status", "sendCommand"]) {
      expect(() => redis.defineCommand(name, { lua: LUA }), name).to.throw("Choose another name");
    }
    expect(() => connect({ lazyConnect: true, scripts: { emit: { lua: LUA } } })).to.throw('"emit"');
  });
});
