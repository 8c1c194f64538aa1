/** Output that a stream of a user's connector holds back is not overwritten by what is issued later. */

import { connect as connectSocket } from "node:net";
import { Duplex, PassThrough } from "node:stream";
import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { AbstractConnector, Redis } from "../../src/index";
import { closeClient } from "../support/matrix";
import { sharedServer } from "../support/shared-servers";

const COMMANDS = 9000;
const ROUNDS = 30;

/** A tunnel that says "written" at once and forwards later. */
function tunnelTo(port: number, host: string, holdMs: number): Duplex {
  const socket = connectSocket({ port, host });
  const held = new PassThrough({ highWaterMark: 64 * 1024 * 1024 });
  const tunnel = new Duplex({
    highWaterMark: 64 * 1024 * 1024,
    read() {},
    write(chunk, _encoding, done) {
      held.write(chunk);
      done();
    },
    final(done) {
      held.end();
      done();
    },
    destroy(error, done) {
      socket.destroy();
      done(error);
    },
  });
  held.pause();
  const timer = setInterval(() => {
    for (let chunk = held.read(); chunk !== null; chunk = held.read()) socket.write(chunk);
  }, holdMs);
  socket.on("data", (chunk) => tunnel.push(chunk));
  socket.on("close", () => {
    clearInterval(timer);
    tunnel.push(null);
    tunnel.destroy();
  });
  socket.on("error", () => {});
  return tunnel;
}

describe("a stream that holds on to what it was given", () => {
  let server: ServerProcess;
  let redis: Redis;
  before(async () => {
    server = await sharedServer(ServerKind.Redis);
  });
  afterEach(() => closeClient(redis));

  it("sends the right values of 9,000 commands", async () => {
    redis = new Redis({
      Connector: class extends AbstractConnector {
        override async connect(): Promise<Duplex> {
          return tunnelTo(server.port, server.host, 100);
        }
        override disconnect(): void {}
      } as never,
    });
    await redis.ping();
    const perRound = COMMANDS / ROUNDS;
    const outcomes: Promise<unknown>[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      for (let i = 0; i < perRound; i++) {
        const id = round * perRound + i;
        outcomes.push(redis.set(`held:${id}`, `${id}:`.repeat(40)));
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(outcomes);
    const keys = Array.from({ length: COMMANDS }, (_, id) => `held:${id}`);
    const wrong = (await redis.mget(keys)).filter((value, id) => value !== `${id}:`.repeat(40));
    expect(wrong.length).to.equal(0);
  });

  it("as does a socket whose write() was replaced by the user", async () => {
    redis = new Redis({ port: server.port, host: server.host });
    await redis.ping();
    const chunks: { given: Buffer; copy: Buffer }[] = [];
    const { stream } = redis;
    if (stream === null) throw new Error("There is no socket");
    const { write } = stream;
    stream.write = ((chunk: Buffer, ...rest: unknown[]) => {
      chunks.push({ given: chunk, copy: Buffer.from(chunk) });
      return Reflect.apply(write, stream, [chunk, ...rest]);
    }) as Duplex["write"];
    for (let i = 0; i < 200; i++) await redis.set("key", String(i).repeat(500));
    expect(chunks.filter(({ given, copy }) => !given.equals(copy)).length).to.equal(0);
  });
});
