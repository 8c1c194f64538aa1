/**
 * The types of the command methods tell the truth: every call of the corpus is run on every server
 * with both mappings, as strings and as Buffers, and what comes back belongs to the type that the
 * overload of this call promises.
 */

import { expect } from "chai";
import { METHOD_NAMES } from "../../scripts/commands/overrides";
import { replyTypes } from "../../scripts/commands/signature-text";
import { methodShapes } from "../../scripts/commands/signatures";
import { readSnapshots } from "../../scripts/commands/snapshot";
import { Redis } from "../../src/client/redis";
import { COMMAND_CORPUS } from "../support/command-corpus";
import { closeClient } from "../support/matrix";
import { isOfType, replyOfCall } from "../support/reply-type";
import { serverKinds, sharedServer } from "../support/shared-servers";

const MODES = [
  { replyMapping: "legacy", wantsBuffers: false },
  { replyMapping: "legacy", wantsBuffers: true },
  { replyMapping: "resp3", wantsBuffers: false },
  { replyMapping: "resp3", wantsBuffers: true },
] as const;

/** Replies whose types say otherwise on purpose, because code written for this API relies on it. */
const KNOWN = /^(time|dump nope|lmove|rpoplpush|geohash)/;

const snapshots = readSnapshots();
const FAILED = Symbol("failed");

async function replyTo(client: Redis, name: string, args: readonly string[]): Promise<unknown> {
  const method = Reflect.get(client, name) as (...args: string[]) => Promise<unknown>;
  return Promise.resolve(Reflect.apply(method, client, args)).catch(() => FAILED);
}

for (const kind of serverKinds()) {
  describe(`types of replies on ${kind}`, function () {
    this.timeout(60_000);

    before(async function () {
      this.timeout(120_000);
      await sharedServer(kind);
    });

    for (const { replyMapping, wantsBuffers } of MODES) {
      it(`${replyMapping}, ${wantsBuffers ? "Buffers" : "strings"}`, async () => {
        const { port } = await sharedServer(kind);
        const client = new Redis({ port, replyMapping });
        const wrong: string[] = [];
        let checked = 0;
        for (const { word, args, text } of COMMAND_CORPUS) {
          if (!METHOD_NAMES.includes(word)) continue;
          const name = wantsBuffers ? `${word}Buffer` : word;
          const value = await replyTo(client, name, args);
          const shapes = methodShapes(snapshots, word);
          if (value === FAILED || KNOWN.test(text) || shapes.length === 0) continue;
          const reply = replyOfCall(shapes, args);
          const type = reply === undefined ? "never" : replyTypes(reply, wantsBuffers)[replyMapping];
          checked++;
          if (!isOfType(type, value)) wrong.push(`${text}: ${type} is ${JSON.stringify(value)}`);
        }
        await closeClient(client);
        expect(wrong).to.deep.equal([]);
        expect(checked).to.be.greaterThan(250);
      });
    }
  });
}
