/** A script defined again under its name takes the place of the one before. */

import { expect } from "chai";
import type { Redis } from "../../src/index";
import { ServerFixture } from "../support/server-fixture";

type Scripted = { which(): Promise<number> };

function define(redis: Redis, number: number): void {
  redis.defineCommand("which", { lua: `return ${number}`, numberOfKeys: 0 });
}

describe("defineCommand with a name that has a script", () => {
  const fixture = new ServerFixture().install();

  it("replaces the script for calls and for later pipelines", async () => {
    const redis = fixture.connectDirectly();
    define(redis, 1);
    const before = redis.pipeline();
    define(redis, 2);
    const later = redis.pipeline();
    const view = redis.with({ timeout: 1000 }).pipeline();
    for (const batch of [before, later, view]) (batch as unknown as Scripted).which();
    expect(await before.exec()).to.deep.equal([[null, 1]]);
    expect(await later.exec()).to.deep.equal([[null, 2]]);
    expect(await view.exec()).to.deep.equal([[null, 2]]);
    expect(await (redis as unknown as Scripted).which()).to.equal(2);
  });

  it("keeps nothing of the old ones and does not slow pipelines down", () => {
    const redis = fixture.connectDirectly({ lazyConnect: true });
    const depthOf = (object: object): number => {
      let depth = 0;
      for (let one: object | null = object; one !== null; depth++) one = Object.getPrototypeOf(one) as object;
      return depth;
    };
    define(redis, 0);
    const once = depthOf(redis.pipeline());
    for (let number = 1; number <= 1000; number++) {
      define(redis, number);
      redis.addBuiltinCommand("mymodule.get");
    }
    expect(depthOf(redis.pipeline())).to.equal(once);
    expect(Object.keys(redis.scriptsSet)).to.deep.equal(["which"]);
  });
});
