/**
 * The same behaviours on the published `ioredis`, in the same process. Where it does something
 * else, the behaviour names its entry in docs/differences.md; every difference is printed.
 */

import { readFileSync } from "node:fs";
import { inspect, isDeepStrictEqual } from "node:util";
import { expect } from "chai";
import { Redis as Published } from "ioredis";
import { ServerKind } from "../../scripts/servers/find-server";
import { sharedServer } from "../support/shared-servers";
import { type Behaviour, type ClientClass, type Combination, expectedOf } from "./behaviour";
import { BEHAVIOUR_GROUPS } from "./behaviours";
import { combinationsOf, titleOf } from "./combinations";
import { OpenStage } from "./stage";

/** Where it is known to do something else, which may be to hang. */
const GIVE_UP_MS = 1_500;
/** Where it is to do the same, at the pace of a busy machine. */
const PATIENCE_MS = 15_000;
const documented = readFileSync("docs/differences.md", "utf8");

function limitOf({ limits }: Behaviour): number {
  return limits.differs === undefined ? PATIENCE_MS : GIVE_UP_MS;
}

/** Its behaviour where that is not the expected one, or null. Looked at before the stage is cleared. */
async function differenceOn(combination: Combination, behaviour: Behaviour): Promise<string | null> {
  const limitMs = limitOf(behaviour);
  const expected = expectedOf(behaviour, combination);
  const Client = Published as unknown as ClientClass;
  const stage = await OpenStage.open(combination, Client, behaviour.limits.isAlone ?? false);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(() => resolve("did not come to an end"), limitMs);
  });
  try {
    const thrown = (error: Error): string => `threw ${error.message}`;
    const found = await Promise.race([behaviour.run(stage).catch(thrown), late]);
    if (isDeepStrictEqual(found, expected)) return null;
    return `${titleOf(combination)}\n        ioredis: ${show(found)}\n        here:    ${show(expected)}`;
  } finally {
    clearTimeout(timer);
    await stage.close();
  }
}

describe("differences from the published client", () => {
  before(() => sharedServer(ServerKind.Redis));

  for (const { heading, behaviours } of BEHAVIOUR_GROUPS) {
    for (const behaviour of behaviours) {
      const { differs, isOursAlone, requires } = behaviour.limits;
      if (isOursAlone || requires !== undefined) continue;
      it(`${heading}: ${behaviour.title}${differs === undefined ? "" : ` (${differs})`}`, async function () {
        // Its own auto-pipelining has too many defects to be asked about anything else.
        const isAuto = behaviour.limits.autoPipelining === true;
        const combinations = combinationsOf(behaviour, [ServerKind.Redis]).filter(
          ({ autoPipelining }) => autoPipelining === isAuto,
        );
        this.timeout((limitOf(behaviour) + 5_000) * combinations.length);
        const differences: string[] = [];
        for (const combination of combinations) {
          const difference = await differenceOn(combination, behaviour);
          if (difference !== null) differences.push(difference);
        }
        if (differs === undefined) {
          expect(differences.join("\n")).to.equal("");
          return;
        }
        expect(differences, "no longer a difference").not.to.deep.equal([]);
        expect(documented, "docs/differences.md").to.include(`**${differs}**`);
        console.log(`      ${differences[0]}`);
      });
    }
  }
});

function show(value: unknown): string {
  return inspect(value, { breakLength: Number.POSITIVE_INFINITY, depth: 6 });
}
