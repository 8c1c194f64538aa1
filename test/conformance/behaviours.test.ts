/** Every behaviour on every combination of server, protocol, reply mapping and auto-pipelining. */

import { expect } from "chai";
import { Redis } from "../../src/index";
import { serverKinds, sharedServer } from "../support/shared-servers";
import { type ClientClass, type Combination, expectedOf } from "./behaviour";
import { BEHAVIOUR_GROUPS } from "./behaviours";
import { combinationsOf, titleOf } from "./combinations";
import { OpenStage } from "./stage";

async function missingCommand(kind: Combination["kind"], names: readonly string[]): Promise<string | null> {
  if (names.length === 0) return null;
  const server = await sharedServer(kind);
  for (const name of names) {
    const [row] = (await server.command("COMMAND", "INFO", name)) as unknown[];
    if (row === null || row === undefined) return name;
  }
  return null;
}

for (const { heading, behaviours } of BEHAVIOUR_GROUPS) {
  describe(`conformance: ${heading}`, () => {
    let stage: OpenStage | null = null;

    before(() => Promise.all(serverKinds().map(sharedServer)));
    afterEach(async () => {
      await stage?.close();
      stage = null;
    });

    for (const behaviour of behaviours) {
      for (const combination of combinationsOf(behaviour, serverKinds())) {
        it(`${behaviour.title} [${titleOf(combination)}]`, async function () {
          const missing = await missingCommand(combination.kind, behaviour.limits.requires ?? []);
          if (missing !== null) {
            console.log(`      skipped: ${combination.kind} has no ${missing}`);
            this.skip();
          }
          stage = await OpenStage.open(
            combination,
            Redis as unknown as ClientClass,
            behaviour.limits.isAlone ?? false,
          );
          expect(await behaviour.run(stage)).to.deep.equal(expectedOf(behaviour, combination));
        });
      }
    }
  });
}
