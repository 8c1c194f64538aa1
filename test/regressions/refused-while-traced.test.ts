/** A tracer that replaces `reject` after `sendCommand` returned also sees commands refused at once. */

import { expect } from "chai";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { LegacyCommand } from "../../src/client/legacy-command";
import { Redis } from "../../src/client/redis";
import type { Command } from "../../src/command/command";
import { serverKinds, sharedServer } from "../support/shared-servers";

const CLOSED = "Connection is closed.";

describe("a refused command under a tracer", () => {
  const seen: string[] = [];
  const builtIn = Redis.prototype.sendCommand;
  let redis: Redis;

  let server: ServerProcess;

  before(async () => {
    server = await sharedServer(serverKinds()[0]!);
  });

  beforeEach(() => {
    redis = new Redis(server.port, server.host, { lazyConnect: true });
    seen.length = 0;
    Redis.prototype.sendCommand = function (this: Redis, command: Command) {
      const outcome = builtIn.call(this, command);
      const { reject } = command;
      command.reject = (error) => {
        seen.push(`${command.name}: ${error.message}`);
        reject(error);
      };
      return outcome;
    };
  });

  afterEach(() => {
    Redis.prototype.sendCommand = builtIn;
    redis.disconnect();
  });

  async function outcome(reply: Promise<unknown>): Promise<string> {
    return reply.then(String, (error: Error) => error.message);
  }

  it("is seen after disconnect()", async () => {
    await redis.connect();
    redis.disconnect();
    expect(await outcome(redis.get("key"))).to.equal(CLOSED);
    expect(seen).to.deep.equal([`get: ${CLOSED}`]);
  });

  it("is seen when it was built by hand, and settles once", async () => {
    await redis.connect();
    redis.disconnect();
    const command = new LegacyCommand("get", ["key"]);
    expect(await outcome(redis.sendCommand(command))).to.equal(CLOSED);
    expect(seen).to.deep.equal([`get: ${CLOSED}`]);
    expect(command.isSettled).to.equal(true);
  });

  it("is seen without an offline queue", async () => {
    const impatient = redis.duplicate({ enableOfflineQueue: false });
    const message = await outcome(impatient.get("key"));
    expect(message).to.include("Stream isn't writeable");
    expect(seen).to.deep.equal([`get: ${message}`]);
    impatient.disconnect();
  });
});
