/** Output that a stream of a user's connector holds back is not overwritten by what is issued later. */

import { connect as connectSocket } from "node:net";
import { Duplex, PassThrough, Transform } from "node:stream";
import { expect } from "chai";
import { Certificates } from "../../scripts/servers/certificates";
import { findServer, ServerKind } from "../../scripts/servers/find-server";
import { supportsTls } from "../../scripts/servers/server-binary";
import { ServerProcess } from "../../scripts/servers/server-process";
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

  it("as does a Transform between the client and its socket", async () => {
    redis = new Redis({
      Connector: class extends AbstractConnector {
        override async connect(): Promise<Duplex> {
          return throughTransform(server.port, server.host);
        }
        override disconnect(): void {}
      } as never,
    });
    await redis.ping();
    expect(await wrongValues(redis)).to.equal(0);
  });

  it("as does TLS", async function () {
    const binary = await findServer(ServerKind.Redis);
    if (!(await supportsTls(binary.path))) {
      console.log("      skipped: this server was built without TLS");
      this.skip();
    }
    const certificates = new Certificates(["redis.example.org"]);
    const encrypted = await ServerProcess.start({ binary, tls: certificates });
    try {
      const { host, port } = encrypted;
      redis = new Redis({ host, port, tls: certificates.clientOptions() });
      await redis.ping();
      expect(await wrongValues(redis)).to.equal(0);
    } finally {
      await closeClient(redis);
      await encrypted.stop();
    }
  }).timeout(60_000);
});

/** Holds each chunk for some turns of the event loop, and hands it on as it is. */
function throughTransform(port: number, host: string): Duplex {
  const socket = connectSocket({ port, host });
  const holding = new Transform({
    highWaterMark: 64 * 1024 * 1024,
    transform(chunk, _encoding, done) {
      setTimeout(() => done(null, chunk), 2);
    },
  });
  holding.pipe(socket);
  return Duplex.from({ readable: socket, writable: holding });
}

/** Stores values of many sizes, strings and Buffers whose memory is used again, and counts what is not as it was. */
async function wrongValues(redis: Redis): Promise<number> {
  const scratch = Buffer.alloc(120_000);
  const contentOf = (id: number): Buffer => {
    const value = scratch.subarray(0, id % 50 === 0 ? 70_000 + id : 1 + ((id * 31) % 900));
    return value.fill(`${id}:`);
  };
  for (let round = 0; round < 10; round++) {
    const outcomes: Promise<unknown>[] = [];
    for (let id = round * 100; id < (round + 1) * 100; id++) {
      const value = contentOf(id);
      outcomes.push(redis.set(`held:${id}`, id % 2 === 0 ? value : value.toString()));
    }
    const pipeline = redis.pipeline();
    for (let id = round * 100; id < (round + 1) * 100; id++)
      pipeline.set(`piped:${id}`, Buffer.from(contentOf(id)));
    outcomes.push(pipeline.exec());
    await Promise.all(outcomes);
  }
  let wrong = 0;
  for (let id = 0; id < 1000; id++) {
    for (const key of [`held:${id}`, `piped:${id}`]) {
      if (!(await redis.getBuffer(key))?.equals(contentOf(id))) wrong++;
    }
  }
  return wrong;
}
