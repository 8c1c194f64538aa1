/**
 * A server whose tokens end after a short time and whose sessions end soon after, as those of managed servers do: no
 * command fails while tokens are renewed, on one server and on a cluster.
 */

import { expect } from "chai";
import { Cluster, Redis } from "../../src/index";
import { type FakeConnection, FakeServer, RawReply } from "../support/fake-server";
import { closeClient } from "../support/matrix";

const isLong = process.env.SLUICE_LONG === "1";
/** A token logs in for so long, and a session goes on for so long without another login. */
const TOKEN_MS = isLong ? 2000 : 400;
const SESSION_MS = 3 * TOKEN_MS;
const EXPIRIES = isLong ? 20 : 5;
const MASTERS = 6;
const SLOTS = 16_384;

/** Tokens are times: the server knows how old each is. */
class TokenServer {
  readonly refusals: string[] = [];
  private readonly loggedInAt = new Map<FakeConnection, number>();
  private readonly server: FakeServer;
  slots: () => (number | (string | number)[])[][] = () => [];
  private readonly values = new Map<string, number>();

  private constructor(server: FakeServer) {
    this.server = server;
  }

  static async start(): Promise<TokenServer> {
    const holder: { server?: TokenServer } = {};
    const server = await FakeServer.start((words, connection) => holder.server?.answer(words, connection));
    holder.server = new TokenServer(server);
    return holder.server;
  }

  get port(): number {
    return this.server.port;
  }

  stop(): Promise<void> {
    return this.server.stop();
  }

  private answer(words: string[], connection: FakeConnection): ReturnType<FakeServerHandler> {
    const name = words[0]?.toLowerCase();
    if (name === "hello" || name === "auth") return this.logIn(words, connection);
    const age = Date.now() - (this.loggedInAt.get(connection) ?? 0);
    if (age > SESSION_MS) {
      connection.socket.destroy();
      return "";
    }
    if (name === "incr") {
      const value = (this.values.get(words[1] ?? "") ?? 0) + 1;
      this.values.set(words[1] ?? "", value);
      return value;
    }
    if (name === "cluster") return this.slots() as never;
    if (name === "multi") return new RawReply("+OK\r\n");
    return undefined;
  }

  private logIn(words: string[], connection: FakeConnection): ReturnType<FakeServerHandler> {
    const place = words.findIndex((word) => word.toLowerCase() === "auth");
    const token = Number(words[words.length > place + 2 ? place + 2 : place + 1]);
    if (!(Date.now() - token < TOKEN_MS)) {
      this.refusals.push(words.join(" "));
      return new Error("WRONGPASS invalid username-password pair or user is disabled.");
    }
    this.loggedInAt.set(connection, Date.now());
    return words[0]?.toLowerCase() === "auth" ? new RawReply("+OK\r\n") : undefined;
  }
}

type FakeServerHandler = (
  words: string[],
  connection: FakeConnection,
) => RawReply | string | number | Error | undefined;

describe("tokens that expire", function () {
  this.timeout(TOKEN_MS * EXPIRIES + 30_000);
  const servers: TokenServer[] = [];
  const clients: (Redis | Cluster)[] = [];
  const asked: string[] = [];

  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => closeClient(client as Redis)));
    await Promise.all(servers.splice(0).map((server) => server.stop()));
    asked.length = 0;
  });

  const credentials = async ({ reason }: { readonly reason: string }) => {
    asked.push(reason);
    await new Promise((resolve) => setTimeout(resolve, 10));
    return { username: "app", password: String(Date.now()), expiresAt: Date.now() + TOKEN_MS };
  };

  /** INCRs without a pause until the tokens have expired so often; each counter counts exactly. */
  async function load(client: Redis | Cluster, keys: readonly string[]): Promise<number> {
    const endMs = Date.now() + TOKEN_MS * EXPIRIES;
    let round = 0;
    while (Date.now() < endMs) {
      round++;
      expect(await Promise.all(keys.map((key) => client.incr(key)))).to.deep.equal(keys.map(() => round));
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    return round;
  }

  it("fail no command on one server, with one connection all the time", async () => {
    const server = await TokenServer.start();
    servers.push(server);
    const redis = new Redis({
      port: server.port,
      credentials,
      protocol: 2,
      disableClientInfo: true,
      enableReadyCheck: false,
    });
    clients.push(redis);
    let connected = 0;
    redis.on("ready", () => connected++);
    expect(await load(redis, ["a", "b"])).to.be.greaterThan(EXPIRIES);
    expect(server.refusals).to.deep.equal([]);
    expect(connected).to.equal(1);
    expect(asked[0]).to.equal("connect");
    expect(asked.filter((reason) => reason === "renewal").length).to.be.within(
      EXPIRIES - 2,
      2 * EXPIRIES + 2,
    );
  });

  it("fail no command on a cluster of six masters, which ask once for all of them", async () => {
    for (let index = 0; index < MASTERS; index++) servers.push(await TokenServer.start());
    const share = Math.ceil(SLOTS / MASTERS);
    const table = servers.map(({ port }, index) => [
      index * share,
      Math.min(SLOTS, (index + 1) * share) - 1,
      ["127.0.0.1", port, `id${index}`],
    ]);
    for (const server of servers) server.slots = () => table;
    const cluster = new Cluster(
      servers.map(({ port }) => ({ host: "127.0.0.1", port })),
      {
        redisOptions: { credentials, protocol: 2, disableClientInfo: true, enableReadyCheck: false },
        enableReadyCheck: false,
      },
    );
    clients.push(cluster);
    const keys = Array.from({ length: 24 }, (_, index) => `key${index}`);
    expect(await load(cluster, keys)).to.be.greaterThan(EXPIRIES);
    expect(servers.flatMap(({ refusals }) => refusals)).to.deep.equal([]);
    // Alone, each of the six connections would have asked for itself at each expiry.
    const renewals = asked.filter((reason) => reason === "renewal").length;
    expect(renewals).to.be.within(EXPIRIES - 2, 3 * EXPIRIES);
  });
});
