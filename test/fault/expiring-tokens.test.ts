/**
 * A server whose tokens end after a short time and whose sessions end soon after, as those of managed servers do: no
 * command fails while tokens are renewed, on one server and on a cluster.
 */

import { expect } from "chai";
import { awsIam } from "../../src/credentials/aws-iam";
import { Cluster, Redis } from "../../src/index";
import type { CredentialRequest } from "../../src/link/credential-provider";
import { type FakeConnection, type FakeReply, FakeServer, RawReply, status } from "../support/fake-server";
import { closeClient, untilReady } from "../support/matrix";

const isLong = process.env.SLUICE_LONG === "1";
/** A token logs in for so long. The shortest one that a client renews after four fifths of its life. */
const TOKEN_MS = isLong ? 2000 : 650;
/** A session goes on for so long without another login. */
const SESSION_MS = 3 * TOKEN_MS;
/** Logins of open connections, for each server or cluster. */
const RENEWALS = isLong ? 500 : 100;
/** The source is down for so long: no session outlasts it. */
const DOWN_MS = isLong ? 60_000 : SESSION_MS + TOKEN_MS;
const MASTERS = 6;
const SLOTS = 16_384;
const RESP3_HELLO = new RawReply("%2\r\n$6\r\nserver\r\n$5\r\nredis\r\n$5\r\nproto\r\n:3\r\n");

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** One logged-in connection. */
interface Session {
  loggedInAt: number;
  /** The members of an open MULTI. */
  members: string[][] | null;
  readonly channels: Set<string>;
}

/** Accepts logins while `isValid`, ends sessions that are older than their limit, and runs INCR and transactions. */
class TokenServer {
  readonly refusals: string[] = [];
  readonly faults: string[] = [];
  renewals = 0;
  ended = 0;
  slots: FakeReply = [];
  isValid = (token: string): boolean => Date.now() - Number(token) < TOKEN_MS;
  private server!: FakeServer;
  private readonly sessions = new Map<FakeConnection, Session>();
  private readonly values = new Map<string, number>();
  private readonly timer = setInterval(() => this.endSessions(), TOKEN_MS / 20);

  static async start(): Promise<TokenServer> {
    const server = new TokenServer();
    server.server = await FakeServer.start((words, connection) => server.answer(words, connection));
    return server;
  }

  get port(): number {
    return this.server.port;
  }

  get connections(): number {
    return this.server.connectionCount;
  }

  dropConnections(): void {
    this.server.dropConnections();
  }

  stop(): Promise<void> {
    clearInterval(this.timer);
    return this.server.stop();
  }

  private endSessions(): void {
    for (const [{ socket }, { loggedInAt }] of this.sessions) {
      if (socket.destroyed || Date.now() - loggedInAt <= SESSION_MS) continue;
      this.ended++;
      socket.destroy();
    }
  }

  private answer(words: string[], connection: FakeConnection): FakeReply | undefined {
    const name = words[0]?.toLowerCase() ?? "";
    if (name === "hello" || name === "auth") return this.logIn(name, words, connection);
    const session = this.sessions.get(connection);
    if (session === undefined) return new Error("NOAUTH Authentication required.");
    if (session.members !== null && name !== "exec") {
      session.members.push(words);
      return status("QUEUED");
    }
    return this.run(name, words, session, connection);
  }

  private run(
    name: string,
    words: string[],
    session: Session,
    { socket }: FakeConnection,
  ): FakeReply | undefined {
    const [, key = ""] = words;
    switch (name) {
      case "incr":
        return this.increment(key);
      case "multi":
        session.members = [];
        return status("OK");
      case "exec": {
        const members = session.members ?? [];
        session.members = null;
        return members.map(([, member = ""]) => this.increment(member));
      }
      case "subscribe":
        session.channels.add(key);
        return new RawReply(`>3\r\n$9\r\nsubscribe\r\n$${key.length}\r\n${key}\r\n:1\r\n`);
      case "publish":
        return this.publish(key, words[2] ?? "");
      case "cluster":
        return this.slots;
      case "quit":
        setImmediate(() => socket.end());
        return status("OK");
      default:
        return undefined;
    }
  }

  private increment(key: string): number {
    const value = (this.values.get(key) ?? 0) + 1;
    this.values.set(key, value);
    return value;
  }

  publish(channel: string, text: string): number {
    let count = 0;
    for (const [{ socket }, { channels }] of this.sessions) {
      if (!channels.has(channel) || socket.destroyed) continue;
      count++;
      socket.write(
        `>3\r\n$7\r\nmessage\r\n$${channel.length}\r\n${channel}\r\n$${text.length}\r\n${text}\r\n`,
      );
    }
    return count;
  }

  private logIn(name: string, words: string[], connection: FakeConnection): FakeReply {
    const session = this.sessions.get(connection);
    if (session?.members != null) {
      this.faults.push("AUTH inside MULTI");
      return new Error("ERR Command not allowed inside a transaction");
    }
    const token = words[words.length - 1] ?? "";
    if (!this.isValid(token)) {
      this.refusals.push(token);
      return new Error("WRONGPASS invalid username-password pair or user is disabled.");
    }
    if (session === undefined) {
      this.sessions.set(connection, { loggedInAt: Date.now(), members: null, channels: new Set() });
    } else {
      session.loggedInAt = Date.now();
      this.renewals++;
    }
    return name === "auth" ? status("OK") : RESP3_HELLO;
  }
}

describe("tokens that expire", function () {
  this.timeout(isLong ? 600_000 : 60_000);
  const servers: TokenServer[] = [];
  const clients: (Redis | Cluster)[] = [];
  const asked: string[] = [];
  let isSourceDown = false;

  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => closeClient(client as Redis)));
    await Promise.all(servers.splice(0).map((server) => server.stop()));
    asked.length = 0;
    isSourceDown = false;
  });

  const credentials = async ({ reason }: { readonly reason: string }) => {
    asked.push(reason);
    await sleep(10);
    if (isSourceDown) throw new Error("the source is down");
    return { username: "app", password: String(Date.now()), expiresAt: Date.now() + TOKEN_MS };
  };

  const quiet = { credentials, disableClientInfo: true, enableReadyCheck: false } as const;

  async function start(): Promise<TokenServer> {
    const server = await TokenServer.start();
    servers.push(server);
    return server;
  }

  function connect(server: TokenServer, options: object = {}): Redis {
    const redis = new Redis({ port: server.port, ...quiet, retryStrategy: () => 5, ...options });
    redis.on("error", (error: Error) => server.faults.push(error.message));
    clients.push(redis);
    return redis;
  }

  const renewals = (): number => servers.reduce((sum, server) => sum + server.renewals, 0);
  const refusals = (): string[] => servers.flatMap((server) => server.refusals);
  const faults = (): string[] => servers.flatMap((server) => server.faults);

  /** Rounds without a pause until the open connections have logged in again so often. */
  async function load(work: (round: number) => Promise<unknown>): Promise<number> {
    let round = 0;
    while (renewals() < RENEWALS) await work(++round);
    return round;
  }

  type Client = Redis | Cluster;

  /** Single commands, of which each counts exactly. */
  const counters = (client: Client, keys: readonly string[]) => async (round: number) => {
    expect(await Promise.all(keys.map((key) => client.incr(key)))).to.deep.equal(keys.map(() => round));
    await sleep(1);
  };

  const pipelines = (client: Client) => async (round: number) => {
    const rows = await client.pipeline().incr("p{a}").incr("q{a}").exec();
    expect(rows).to.deep.equal([
      [null, round],
      [null, round],
    ]);
    await sleep(1);
  };

  const transactions = (client: Client) => async (round: number) => {
    expect(await client.multi().incr("m{b}").incr("n{b}").exec()).to.deep.equal([
      [null, round],
      [null, round],
    ]);
    await sleep(1);
  };

  /** The connection is inside a transaction nearly all the time. */
  const byHand = (redis: Pick<Redis, "multi" | "incr" | "exec">) => async (round: number) => {
    await redis.multi({ pipeline: false });
    await redis.incr("h1");
    await redis.incr("{h1}");
    expect(await redis.exec()).to.deep.equal([
      [null, round],
      [null, round],
    ]);
  };

  /** Every message arrives, in order. */
  async function messages(
    subscriber: Client,
    publish: (channel: string, text: string) => unknown,
  ): Promise<(round: number) => Promise<void>> {
    let heard = 0;
    let notify = (): void => {};
    subscriber.on("message", (_channel: string, text: string) => {
      expect(Number(text)).to.equal(++heard);
      notify();
    });
    await subscriber.subscribe("news");
    return async (round) => {
      const arrived = new Promise<void>((resolve) => (notify = resolve));
      await publish("news", String(round));
      await arrived;
      await sleep(1);
    };
  }

  it("fail no command on one server, and no connection is opened again", async () => {
    const server = await start();
    const plain = connect(server);
    const rounds = await Promise.all([
      load(counters(plain, ["a", "b"])),
      load(pipelines(connect(server))),
      load(transactions(connect(server))),
      load(byHand(connect(server))),
      load(await messages(connect(server), (channel, text) => plain.publish(channel, text))),
    ]);
    for (const count of rounds) expect(count).to.be.greaterThan(RENEWALS);
    expect([refusals(), faults(), server.ended]).to.deep.equal([[], [], 0]);
    expect(server.connections).to.equal(5);
    expect(asked[0]).to.equal("connect");
    // Each of the five would have asked for itself.
    expect(asked.filter((reason) => reason === "renewal").length).to.be.within(1, RENEWALS / 2);
  });

  it("fail no command on a cluster of six masters, which ask once for all of them", async () => {
    for (let index = 0; index < MASTERS; index++) await start();
    const share = Math.ceil(SLOTS / MASTERS);
    const table = servers.map(({ port }, index) => [
      index * share,
      Math.min(SLOTS, (index + 1) * share) - 1,
      ["127.0.0.1", port, `id${index}`],
    ]);
    for (const server of servers) server.slots = table;
    const cluster = new Cluster(
      servers.map(({ port }) => ({ host: "127.0.0.1", port })),
      { redisOptions: quiet, enableReadyCheck: false },
    );
    clients.push(cluster);
    cluster.on("error", (error: Error) => servers[0]?.faults.push(error.message));
    const keys = Array.from({ length: 24 }, (_, index) => `key${index}`);
    const publish = (channel: string, text: string): void => {
      for (const server of servers) server.publish(channel, text);
    };
    const rounds = await Promise.all([
      load(counters(cluster, keys)),
      load(pipelines(cluster)),
      load(transactions(cluster)),
      load((round) => cluster.withConnection((own) => byHand(own)(round), { key: "h1" })),
      load(await messages(cluster, publish)),
    ]);
    for (const count of rounds) expect(count).to.be.greaterThan(RENEWALS);
    const ended = servers.reduce((sum, server) => sum + server.ended, 0);
    expect([refusals(), faults(), ended]).to.deep.equal([[], [], 0]);
    // Alone, each of the seven connections would have asked for itself.
    expect(asked.filter((reason) => reason === "renewal").length).to.be.within(1, RENEWALS / 2);
  });

  it("are followed by newer ones after a transaction by hand that outlasts them", async () => {
    const server = await start();
    const redis = connect(server);
    await redis.multi({ pipeline: false });
    await sleep(2 * TOKEN_MS);
    await redis.incr("a");
    expect(await redis.exec()).to.deep.equal([[null, 1]]);
    while (server.renewals === 0) await redis.incr("b");
    expect([refusals(), faults(), server.connections]).to.deep.equal([[], [], 1]);
  });

  it("end with the keys that signed them, which rotate earlier", async () => {
    const server = await start();
    const endOf = new Map<string, number>();
    const aws = awsIam({
      service: "elasticache",
      cluster: "c",
      user: "app",
      region: "eu-central-1",
      from: () => {
        const expiration = new Date(Date.now() + TOKEN_MS);
        const accessKeyId = `AK${endOf.size}`;
        endOf.set(accessKeyId, Number(expiration));
        return { accessKeyId, secretAccessKey: "secret", sessionToken: "token", expiration };
      },
    });
    server.isValid = (token) => {
      const query = new URL(`http://${token}`).searchParams;
      expect(query.get("X-Amz-Expires")).to.equal("900");
      const id = query.get("X-Amz-Credential")?.split("/")[0] ?? "";
      return (endOf.get(id) ?? 0) > Date.now();
    };
    const redis = connect(server, {
      credentials: (request: CredentialRequest) => aws({ ...request, tls: true }),
    });
    let round = 0;
    while (server.renewals < 4) expect(await redis.incr("a")).to.equal(++round);
    expect([refusals(), faults(), server.connections, server.ended]).to.deep.equal([[], [], 1, 0]);
  });

  it("serve new connections while their source is down, and are renewed when it is back", async () => {
    const server = await start();
    const redis = connect(server);
    const told: string[] = [];
    redis.removeAllListeners("error");
    redis.on("error", (error: Error) => told.push(error.message));
    await redis.incr("a");
    isSourceDown = true;
    server.dropConnections();
    expect(await redis.incr("a")).to.equal(2);
    // The renewal fails, and the session goes on.
    let value = 2;
    while (!told.includes("the source is down")) expect(await redis.incr("a")).to.equal(++value);
    isSourceDown = false;
    while (server.renewals === 0) expect(await redis.incr("a")).to.equal(++value);
    expect([refusals(), server.ended, server.connections]).to.deep.equal([[], 0, 2]);
  });

  it("and sessions that end while their source is down let commands wait, and none fails", async () => {
    const server = await start();
    const redis = connect(server, { maxRetriesPerRequest: null });
    await redis.incr("a");
    isSourceDown = true;
    const timer = setTimeout(() => (isSourceDown = false), DOWN_MS);
    const caller = async (): Promise<void> => {
      while (isSourceDown || server.connections === 1) {
        await redis.incr("a");
        await sleep(1);
      }
    };
    await Promise.all(Array.from({ length: 10 }, caller));
    clearTimeout(timer);
    expect([refusals(), server.ended]).to.deep.equal([[], 1]);
    expect(faults()).to.include("the source is down");
  });

  it("are renewed while the client is idle for longer than a session lasts", async () => {
    const server = await start();
    const redis = connect(server);
    await untilReady(redis);
    await sleep(SESSION_MS + TOKEN_MS);
    expect(await redis.incr("a")).to.equal(1);
    expect([refusals(), faults(), server.connections, server.ended]).to.deep.equal([[], [], 1, 0]);
  });

  it("of a subscriber with RESP2, which cannot log in again, end: it connects and subscribes again", async () => {
    const server = await start();
    const subscriber = connect(server, { protocol: 2 });
    await subscriber.subscribe("news");
    const publisher = connect(server);
    while (server.ended < 1) {
      await publisher.incr("a");
      await sleep(5);
    }
    const heard = new Promise((resolve) => subscriber.once("message", (_channel, text) => resolve(text)));
    while ((await publisher.publish("news", "hello")) === 0) await sleep(5);
    expect(await heard).to.equal("hello");
    expect(refusals()).to.deep.equal([]);
  });
});
