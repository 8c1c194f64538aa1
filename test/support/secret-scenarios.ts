/**
 * The scenarios of secrets: every option, address and command that carries one, in every way
 * in which commands can be sent and can fail. Used by the audit, and once more in a process of
 * its own whose output is read.
 */

import { Cluster, type ClusterOptions, Command, Redis, type RedisOptions } from "../../src/index";
import { FakeCluster } from "./fake-cluster";
import { FakeServer, NO_REPLY } from "./fake-server";
import { closeClient } from "./matrix";
import type { Secrets, Witness } from "./secrets";

export interface Ground {
  readonly secrets: Secrets;
  readonly witness: Witness;
  /** A server that lets everybody in. */
  readonly host: string;
  readonly port: number;
}

type Scenario = (ground: Ground) => Promise<void>;
/** Name and arguments of a command that carries secrets. */
type Line = readonly [name: string, ...args: string[]];

const PATIENCE_MS = 150;
const QUIET: RedisOptions = { retryStrategy: null, disableClientInfo: true, disconnectTimeout: 50 };

/** Every command that carries secrets; each has its own in each place. */
export function secretLines(secrets: Secrets, scenario: string): Line[] {
  const of = (place: string): string => secrets.of(`${scenario}: ${place}`);
  const hash = (place: string): string => secrets.add(`${scenario}: ${place}`, of(place).slice(1).repeat(2));
  return [
    ["auth", of("AUTH")],
    ["AUTH", "someone", of("AUTH user")],
    ["hello", "3", "AUTH", "someone", of("HELLO")],
    ["hello", "2", "auth", "default", of("HELLO 2"), "SETNAME", "n"],
    ["config", "set", "masterauth", of("masterauth")],
    ["CONFIG", "SET", "maxmemory", "0", "MasterAuth", of("masterauth 2"), "nonsense", "1"],
    ["config", "set", "requirepass", of("requirepass"), "masteruser", "m", "bogus", "1"],
    ["config", "set", "tls-key-file-pass", of("tls-key-file-pass"), "bogus", "1"],
    ["acl", "setuser", "audit", `>${of("ACL >")}`, `<${of("ACL <")}`],
    ["ACL", "SETUSER", "audit", `#${hash("ACL #")}`, `!${hash("ACL !")}`, "+nonsense"],
    ["acl", "setuser", "audit", `#${of("ACL bad hash")}`],
    ["migrate", "127.0.0.1", "1", "k", "0", "10", "AUTH", of("MIGRATE AUTH")],
    ["MIGRATE", "127.0.0.1", "1", "", "0", "10", "COPY", "AUTH2", "u", of("MIGRATE AUTH2"), "KEYS", "k"],
    ["sentinel", "set", "mymaster", "auth-pass", of("SENTINEL SET")],
    ["sentinel", "config", "set", "sentinel-pass", of("SENTINEL CONFIG SET")],
    // Mistakes that people make: two words in one, and the whole line.
    ["config set", "requirepass", of("config set as one word"), "bogus", "1"],
    ["auth someone", of("auth with a user as one word")],
    ["hello 3", "AUTH", "someone", of("hello as one word")],
    [`auth ${of("auth as one word")}`],
    [`config  set\trequirepass ${of("config set in one line")}`],
  ];
}

/** Looks at a client and everything that hangs on it. */
function lookAt(witness: Witness, where: string, client: Redis | Cluster): void {
  witness.note(`${where}: client`, client);
  witness.note(`${where}: stats`, client.stats());
  witness.note(`${where}: in JSON`, JSON.stringify(client));
  witness.note(`${where}: options`, client.options);
  witness.note(`${where}: view`, client.with({ timeout: 1000 }));
  if (client instanceof Cluster) {
    witness.note(`${where}: redisOptions`, client.options.redisOptions);
    witness.note(`${where}: startup nodes`, client.startupNodes);
    for (const node of client.nodes()) lookAt(witness, `${where}: node`, node);
    return;
  }
  witness.note(`${where}: stream`, client.stream);
  witness.note(`${where}: connector`, client.connector);
  witness.note(`${where}: condition`, client.condition);
  witness.note(`${where}: queues`, [client.commandQueue, client.offlineQueue]);
}

/** Opens a client, notes its events, and closes it after the body. */
async function withRedis(
  ground: Ground,
  [where, args]: readonly [string, unknown[]],
  body: (redis: Redis) => Promise<void> = async () => {},
): Promise<void> {
  const { witness } = ground;
  let redis: Redis;
  try {
    redis = new (Redis as unknown as new (...args: unknown[]) => Redis)(...args);
  } catch (error) {
    witness.note(`${where}: constructor`, error);
    return;
  }
  for (const event of ["error", "sentinelError", "busy", "select", "warning"]) {
    redis.on(event, (payload: unknown) => witness.note(`${where}: event ${event}`, payload));
  }
  try {
    await witness.call(`${where}: connect`, () => (redis.status === "wait" ? redis.connect() : redis.ping()));
    lookAt(witness, where, redis);
    await body(redis);
    lookAt(witness, where, redis);
  } finally {
    await closeClient(redis);
  }
}

/** Sends all lines in every way there is. */
async function sendAll(ground: Ground, where: string, client: Redis | Cluster): Promise<void> {
  const { secrets, witness } = ground;
  const lines = secretLines(secrets, where);
  const call = (line: Line): Promise<unknown> => client.call(...(line as [string, ...string[]]));
  const singles = lines.map((line) => witness.call(`${where}: single`, () => call(line)));
  witness.note(`${where}: under way`, client);
  await Promise.all(singles);
  await witness.call(`${where}: methods`, () => client.auth(secrets.of(`${where}: auth()`)));
  await witness.call(`${where}: methods`, () =>
    client.config("SET", "masterauth", secrets.of(`${where}: config()`), "bogus", "1"),
  );
  await Promise.all(
    lines.map((line) =>
      witness.call(`${where}: Buffers`, () =>
        client.callBuffer(line[0], ...line.slice(1).map((word) => Buffer.from(word))),
      ),
    ),
  );
  for (const [name, ...args] of lines) {
    const command = new Command(name, args);
    witness.note(`${where}: Command`, command);
    await witness.call(`${where}: sendCommand`, () => client.sendCommand(command));
  }
  await sendBatches(ground, where, client);
}

async function sendBatches(
  { secrets, witness }: Ground,
  where: string,
  client: Redis | Cluster,
): Promise<void> {
  const lines = secretLines(secrets, where);
  for (const batch of [client.pipeline(), client.multi()] as ReturnType<Redis["pipeline"]>[]) {
    for (const line of lines) batch.call(...(line as [string, ...string[]]));
    witness.note(`${where}: batch`, batch);
    const outcome = batch.exec();
    witness.note(`${where}: batch under way`, batch);
    await witness.call(`${where}: batch`, () => outcome);
    witness.note(`${where}: batch afterwards`, batch);
  }
  for (const line of lines)
    await witness.call(`${where}: list`, () => client.pipeline([line as never]).exec());
  const bulk = client.bulk(lines);
  witness.note(`${where}: bulk`, bulk);
  await witness.call(`${where}: bulk`, async () => witness.note(`${where}: summary`, await bulk.summary()));
  witness.note(`${where}: bulk`, bulk);
  const view = client.with({ timeout: PATIENCE_MS, retry: "at-most-once" });
  await Promise.all(
    lines.map((line) => witness.call(`${where}: with`, () => view.call(...(line as [string, ...string[]])))),
  );
}

/** Sends all lines to nodes that give each command back once, in each of the ways there are. */
async function redirectAll(
  { secrets, witness }: Ground,
  where: string,
  cluster: Cluster,
  { nodes }: FakeCluster,
): Promise<void> {
  const [first] = nodes as [FakeCluster["nodes"][number]];
  for (const answer of [`MOVED 1 ${first.key}`, `ASK 1 ${first.key}`, "TRYAGAIN later", "LOADING still"]) {
    const seen = new Set<string>();
    for (const node of nodes) {
      node.script = (words) => {
        const line = words.join(" ");
        if (seen.has(line) || ["cluster", "asking", "info"].includes(words[0] as string)) return undefined;
        seen.add(line);
        return new Error(answer);
      };
    }
    const lines = secretLines(secrets, `${where}, ${answer}`) as [string, ...string[]][];
    await Promise.all(lines.map((line) => witness.call(where, () => cluster.call(...line))));
    if (seen.size === 0) throw new Error(`No command was answered with ${answer}`);
  }
  for (const node of nodes) node.script = null;
}

/** A server that repeats what it is told in its complaints, as servers do in one way or another. */
function parrot(): Promise<FakeServer> {
  let turn = 0;
  return FakeServer.start((words) => {
    if (["ping", "info", "quit"].includes(words[0] as string)) return undefined;
    const [name, ...args] = words;
    const quoted = args.map((word) => `'${word}'`).join(" ");
    const answers = [
      `ERR unknown command '${name}', with args beginning with: ${quoted.slice(0, 128)}`,
      `ERR I do not like ${args.join(" ")} at all`,
      `WRONGPASS ${quoted}`,
      `ERR Error in ACL SETUSER modifier ${quoted}: no`,
      `NOPERM ${name} ${args.join(",")}`,
    ];
    return new Error(answers[turn++ % answers.length]);
  });
}

export const SCENARIOS: Record<string, Scenario> = {
  async "options and addresses"(ground) {
    const { secrets, host, port } = ground;
    const of = (place: string): string => secrets.of(`address: ${place}`);
    const addresses: [string, unknown[]][] = [
      ["options", [{ ...QUIET, host, port, username: "u", password: of("password") }]],
      ["options without user", [{ ...QUIET, host, port, password: of("password alone"), protocol: 2 }]],
      ["URL", [`redis://u:${of("URL")}@${host}:${port}`, QUIET]],
      ["URL without user", [`redis://:${of("URL alone")}@${host}:${port}/1`, QUIET]],
      ["query", [`redis://${host}:${port}?password=${of("query")}`, QUIET]],
      ["query of a path", [`/nowhere/socket?password=${of("path")}`, QUIET]],
      ["no scheme", [`u:${of("no scheme")}@${host}:${port}`, QUIET]],
      ["bad port", [`redis://u:${of("bad port")}@${host}:99999`, QUIET]],
      ["bad host", [`redis://u:${of("bad host")}@h ost`, QUIET]],
      ["slash", [`redis://u:${of("slash")}/more@${host}:${port}`, QUIET]],
      ["number and slash", [`redis://:12/${of("number and slash")}@${host}:${port}`, QUIET]],
      ["question mark", [`redis://:12?${of("question mark")}@${host}:${port}`, QUIET]],
      ["hash", [`redis://u:${of("hash")}#more@${host}:${port}`, QUIET]],
      ["unknown scheme", [`http://u:${of("scheme")}@${host}`, QUIET]],
      ["unreachable", [`redis://u:${of("unreachable")}@127.0.0.1:1`, QUIET]],
      [
        "provider",
        [{ ...QUIET, host, port, credentials: () => ({ username: "u", password: of("provider") }) }],
      ],
      ["lazy", [{ ...QUIET, lazyConnect: true, host, port, password: of("lazy") }]],
    ];
    for (const address of addresses) {
      await withRedis(ground, address, async (redis) => {
        const copy = redis.duplicate();
        copy.on("error", () => {});
        lookAt(ground.witness, `${address[0]}: duplicate`, copy);
        await closeClient(copy);
      });
    }
  },

  async "a server that works"(ground) {
    for (const options of [
      {},
      { protocol: 2 },
      { enableAutoPipelining: true },
      { showFriendlyErrorStack: true },
    ] as const) {
      const where = `server ${JSON.stringify(options)}`;
      const place = { ...QUIET, host: ground.host, port: ground.port, ...options };
      await withRedis(ground, [where, [place]], (redis) => sendAll(ground, where, redis));
    }
  },

  async "a server that repeats what it is told"(ground) {
    const fake = await parrot();
    try {
      for (const options of [{ protocol: 2 }, { enableAutoPipelining: true }] as const) {
        const where = `parrot ${JSON.stringify(options)}`;
        const place = { ...QUIET, host: fake.host, port: fake.port, ...options };
        await withRedis(ground, [where, [place]], (redis) => sendAll(ground, where, redis));
      }
      const password = ground.secrets.of("parrot: password");
      await withRedis(ground, [
        "parrot password",
        [{ ...QUIET, host: fake.host, port: fake.port, password }],
      ]);
    } finally {
      await fake.stop();
    }
  },

  async "a server that says nothing"(ground) {
    const { secrets, witness } = ground;
    const fake = await FakeServer.start((words) =>
      ["ping", "info", "quit", "client"].includes(words[0] as string) ? undefined : NO_REPLY,
    );
    const place = {
      host: fake.host,
      port: fake.port,
      protocol: 2,
      disableClientInfo: true,
      retryStrategy: () => 1,
    };
    const waiting = (redis: Redis, scenario: string): Promise<void>[] =>
      secretLines(secrets, scenario).map((line) =>
        witness.call(scenario, () => redis.call(...(line as [string, ...string[]]))),
      );
    try {
      for (const [scenario, options, harm] of [
        ["timeout", { commandTimeout: 30 }, () => {}],
        ["lost", { maxLossesPerCommand: 1 }, () => fake.dropConnections()],
        ["unknown", { retryPolicy: "at-most-once" }, () => fake.dropConnections()],
        ["gone", { maxRetriesPerRequest: 0 }, () => fake.dropConnections()],
        ["closed", {}, (redis: Redis) => redis.disconnect()],
        ["bounds", { bounds: { maxCommands: 1, policy: "reject" } }, (redis: Redis) => redis.disconnect()],
        ["offline", { enableOfflineQueue: false }, (redis: Redis) => redis.disconnect()],
      ] as [string, RedisOptions, (redis: Redis) => void][]) {
        await withRedis(ground, [scenario, [{ ...place, ...options }]], async (redis) => {
          const calls = waiting(redis, scenario);
          const batch = redis.pipeline();
          for (const line of secretLines(secrets, scenario)) batch.call(...(line as [string, ...string[]]));
          const rows = witness.call(`${scenario}: batch`, () => batch.exec());
          await new Promise((resolve) => setTimeout(resolve, 20));
          lookAt(witness, `${scenario}: under way`, redis);
          // Commands that are lost again and again have to be ended at last.
          const timer = setInterval(() => harm(redis), 20);
          const end = setTimeout(() => redis.disconnect(), 400);
          await Promise.all([...calls, rows]);
          clearInterval(timer);
          clearTimeout(end);
        });
      }
      const abort = new AbortController();
      await withRedis(ground, ["abort", [place]], async (redis) => {
        const calls = waiting(redis.with({ signal: abort.signal }) as Redis, "abort");
        abort.abort(new Error("enough"));
        await Promise.all(calls);
      });
    } finally {
      await fake.stop();
    }
  },

  async "clients that never connect"(ground) {
    const { secrets, witness } = ground;
    const password = secrets.of("offline: password");
    const options = { ...QUIET, host: "127.0.0.1", port: 1, username: "u", password, lazyConnect: true };
    const redis = new Redis(options);
    redis.on("error", (error) => witness.note("offline: error", error));
    const calls = secretLines(secrets, "offline").map((line) =>
      witness.call("offline", () => redis.call(...(line as [string, ...string[]]))),
    );
    lookAt(witness, "offline", redis);
    await Promise.all(calls);
    // Nobody listens: it is printed.
    const unheard = new Redis({ ...options, lazyConnect: false, password: secrets.of("unheard") });
    await new Promise((resolve) => unheard.once("end", resolve));
  },

  async sentinels(ground) {
    const { secrets, host, port } = ground;
    const fake = await parrot();
    try {
      for (const [where, address] of [
        ["sentinel that complains", fake],
        ["sentinel that is none", { host, port }],
        ["sentinel that is not there", { host, port: 1 }],
      ] as const) {
        const options = {
          ...QUIET,
          sentinels: [{ host: address.host, port: address.port }],
          name: "mymaster",
          sentinelUsername: "su",
          sentinelPassword: secrets.of(`${where}: sentinelPassword`),
          password: secrets.of(`${where}: password`),
          sentinelRetryStrategy: null,
        };
        await withRedis(ground, [where, [options]]);
      }
    } finally {
      await fake.stop();
    }
  },

  async "a cluster that works"(ground) {
    const { secrets, witness } = ground;
    const nodes = await FakeCluster.start(3);
    try {
      for (const enableAutoPipelining of [false, true]) {
        const where = `working cluster, auto-pipelining ${enableAutoPipelining}`;
        const cluster = new Cluster(
          nodes.seeds.map(({ host, port }) => `redis://u:${secrets.of(`${where}: URL`)}@${host}:${port}`),
          {
            enableAutoPipelining,
            disconnectTimeout: 50,
            redisOptions: { ...QUIET, sentinelPassword: secrets.of(`${where}: useless`) },
          } as ClusterOptions,
        );
        cluster.on("error", (error: Error) => witness.note(`${where}: error`, error));
        for (const event of ["+node", "-node"]) {
          cluster.on(event, (node: Redis) => witness.note(`${where}: event ${event}`, node));
        }
        await new Promise((resolve) => cluster.once("ready", resolve));
        await Promise.all(Array.from({ length: 30 }, (_, index) => cluster.set(`key ${index}`, "x")));
        await witness.call(`${where}: subscribe`, () => cluster.subscribe("news"));
        await redirectAll(ground, `${where}: redirected`, cluster, nodes);
        lookAt(witness, where, cluster);
        witness.note(`${where}: scan`, cluster.scanStream());
        await sendAll(ground, where, cluster);
        lookAt(witness, where, cluster);
        const ended = new Promise((resolve) => cluster.once("end", resolve));
        cluster.disconnect();
        await ended;
      }
    } finally {
      await nodes.stop();
    }
  },

  async clusters(ground) {
    const { secrets, witness, host, port } = ground;
    const of = (place: string): string => secrets.of(`cluster: ${place}`);
    const fake = await parrot();
    try {
      for (const [where, nodes] of [
        ["cluster of complaints", [{ host: fake.host, port: fake.port, password: of("node") }]],
        ["cluster by URL", [`redis://u:${of("URL")}@${fake.host}:${fake.port}`]],
        ["cluster that is none", [`redis://u:${of("none")}@${host}:${port}`, { host, port: 1 }]],
      ] as [string, ConstructorParameters<typeof Cluster>[0]][]) {
        const cluster = new Cluster(nodes, {
          clusterRetryStrategy: null as never,
          redisOptions: { ...QUIET, password: of(`${where}: redisOptions`), sentinelPassword: of("useless") },
        });
        for (const event of ["error", "node error", "+node", "-node"]) {
          cluster.on(event, (...payload: unknown[]) => {
            for (const part of payload) witness.note(`${where}: event ${event}`, part);
          });
        }
        lookAt(witness, where, cluster);
        await sendAll(ground, where, cluster);
        lookAt(witness, where, cluster);
        if (cluster.status !== "end") {
          const ended = new Promise((resolve) => cluster.once("end", resolve));
          cluster.disconnect();
          await ended;
        }
      }
    } finally {
      await fake.stop();
    }
  },
};

export { lookAt, sendAll, withRedis };
