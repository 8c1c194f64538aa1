/**
 * Guarantee 11: secrets stay inside. Every option, address and command that carries one gets a
 * random secret of its own and is in every scenario there is; then all that people may come to see
 * (errors, `util.inspect`, tracers, warnings, the console, debug output) is searched for them.
 */

import { fork } from "node:child_process";
import { join } from "node:path";
import { inspect } from "node:util";
import { expect } from "chai";
import { Certificates } from "../../scripts/servers/certificates";
import { findServer, ServerKind } from "../../scripts/servers/find-server";
import { supportsTls } from "../../scripts/servers/server-binary";
import { ServerProcess } from "../../scripts/servers/server-process";
import { print, Redis } from "../../src/index";
import { type Ground, SCENARIOS, sendAll, withRedis } from "../support/secret-scenarios";
import { Secrets, Witness } from "../support/secrets";
import { startServer } from "../support/shared-servers";

const PROGRAM = join(__dirname, "secret-scenarios-program.js");

/** All that the debug output has, as docs/tracing.md lists them. */
const NAMESPACES = [..."redis connection pipeline flush command cluster pool subscriber sentinel".split(" ")];

interface Output {
  readonly text: string;
  readonly secrets: Secrets;
}

/** Runs all scenarios in a process that writes debug output. */
function runProgram(host: string, port: number): Promise<Output> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, DEBUG: "*", DEBUG_COLORS: "no", NODE_V8_COVERAGE: "" };
    const child = fork(PROGRAM, [host, String(port)], {
      env,
      silent: true,
      execArgv: ["--unhandled-rejections=warn"],
    });
    const secrets = new Secrets();
    let text = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (chunk: Buffer) => {
        text += chunk.toString();
      });
    }
    child.on("message", (values) => {
      for (const [place, secret] of values as [string, string][]) secrets.add(place, secret);
    });
    child.once("error", reject);
    child.once("close", () => resolve({ text, secrets }));
  });
}

describe("secrets stay inside", function () {
  this.timeout(120_000);
  let server: ServerProcess;
  let secrets: Secrets;
  let witness: Witness;
  let looks = 0;
  let count = 0;

  before(async () => {
    server = await startServer(ServerKind.Redis);
  });
  after(async () => {
    await server.stop();
    console.log(`      secrets: ${count} secrets sought in ${looks} texts`);
  });
  beforeEach(async () => {
    secrets = new Secrets();
    witness = new Witness(secrets).listen();
  });
  afterEach(() => {
    witness.stop();
    looks += witness.looks;
    count += secrets.values.size;
  });

  function ground(): Ground {
    return { secrets, witness, host: server.host, port: server.port };
  }

  function expectNoLeaks(): void {
    witness.stop();
    expect(secrets.values.size).to.be.greaterThan(0);
    expect(witness.leaks()).to.deep.equal([]);
  }

  it("the search finds what is there, in every form", () => {
    const secret = secrets.of("here");
    const texts = [
      secret,
      `redis://${secret.slice(0, 12)}...`,
      Buffer.from(secret).toString("hex"),
      inspect(Buffer.from(secret)),
      JSON.stringify(Buffer.from(secret)),
    ];
    for (const text of texts) expect(secrets.findIn(text), text).to.deep.equal(["here"]);
    expect(secrets.findIn("nothing")).to.deep.equal([]);
    witness.note("an error", Object.assign(new Error("x"), { cause: new Error(secret) }));
    witness.note("an object", { deep: { a: [Object.defineProperty({}, "hidden", { value: secret })] } });
    console.warn("said %s", secret);
    witness.stop();
    expect(new Set(witness.leaks().map((leak) => leak.split(":")[0]))).to.deep.equal(
      new Set(["here in an error", "here in an object", "here in console"]),
    );
  });

  for (const [name, scenario] of Object.entries(SCENARIOS)) {
    it(name, async () => {
      await scenario(ground());
      expectNoLeaks();
    });
  }

  it("a server with a password: right, wrong and missing", async () => {
    const password = secrets.of("requirepass");
    const locked = await startServer(ServerKind.Redis, { config: { requirepass: password } });
    const place = { host: locked.host, port: locked.port, retryStrategy: null, disconnectTimeout: 50 };
    try {
      for (const protocol of [2, 3] as const) {
        const where = `right password, protocol ${protocol}`;
        await withRedis(ground(), [where, [{ ...place, protocol, password }]], async (redis) => {
          expect(await redis.ping()).to.equal("PONG");
          expect(redis.options.password).to.equal(password);
          expect(redis.condition?.auth).to.equal(password);
          await sendAll(ground(), where, redis);
        });
        const wrong = { ...place, protocol, username: "u", password: secrets.of(`wrong ${protocol}`) };
        await withRedis(ground(), ["wrong password", [wrong]]);
        await withRedis(ground(), ["no password", [{ ...place, protocol }]]);
      }
      let call = 0;
      const credentials = () => ({
        password: ++call === 1 ? password : secrets.of("renewal"),
        expiresAt: Date.now() + 400,
      });
      await withRedis(ground(), ["renewal", [{ ...place, credentials }]], async (redis) => {
        const failed = new Promise((resolve) => redis.once("error", resolve));
        await failed;
      });
    } finally {
      await locked.stop();
    }
    expectNoLeaks();
  });

  it("a real sentinel", async () => {
    const monitor = { "sentinel monitor": `mymaster ${server.host} ${server.port} 1` };
    const sentinel = await startServer(ServerKind.Redis, { sentinel: true, config: monitor });
    try {
      const place = {
        host: sentinel.host,
        port: sentinel.port,
        retryStrategy: null,
        enableReadyCheck: false,
      };
      await withRedis(ground(), ["sentinel itself", [place]], (redis) =>
        sendAll(ground(), "sentinel", redis),
      );
      const options = {
        sentinels: [{ host: sentinel.host, port: sentinel.port }],
        name: "mymaster",
        sentinelUsername: "nobody",
        sentinelPassword: secrets.of("sentinelPassword"),
        password: secrets.of("password behind the sentinel"),
        sentinelRetryStrategy: null,
        retryStrategy: null,
      };
      await withRedis(ground(), ["through a sentinel", [options]]);
    } finally {
      await sentinel.stop();
    }
    expectNoLeaks();
  });

  it("the key of a TLS client and its passphrase", async function () {
    const binary = await findServer(ServerKind.Redis);
    if (!(await supportsTls(binary.path))) this.skip();
    const certificates = new Certificates();
    const passphrase = secrets.of("passphrase");
    const key = certificates.lockedClientKey(passphrase);
    // The lines of the key, without its head and tail.
    secrets.add("key", key.toString().split("\n").slice(1, -2).join(""));
    const tlsServer = await ServerProcess.start({ binary, tls: certificates });
    try {
      const { ca, cert } = certificates.clientOptions();
      const place = {
        host: tlsServer.host,
        port: tlsServer.port,
        retryStrategy: null,
        watchdog: { idleMs: 60 },
      };
      for (const [where, tls] of Object.entries({
        "right passphrase": { ca, cert, key, passphrase },
        "key as text": { ca, cert, key: key.toString(), passphrase },
        "key in a list": { ca, cert, key: [{ pem: key, passphrase }] },
        "wrong passphrase": { ca, cert, key, passphrase: secrets.of("wrong passphrase") },
      })) {
        await withRedis(ground(), [where, [{ ...place, tls }]], async (redis) => {
          if (where !== "wrong passphrase") expect(await redis.ping()).to.equal("PONG");
          witness.noteBare(`${where}: socket`, redis.stream);
          // The probe of the watchdog dials in the same way.
          await redis.call("debug", "sleep", "0.2").catch(() => {});
        });
      }
    } finally {
      await tlsServer.stop();
    }
    expectNoLeaks();
  });

  it("a monitor, and print()", async () => {
    const redis = new Redis({ host: server.host, port: server.port, password: secrets.of("monitor") });
    redis.on("error", () => {});
    const monitor = await redis.monitor();
    witness.note("monitor", monitor);
    print(
      await redis.auth("someone", secrets.of("print")).then(
        () => null,
        (error: Error) => error,
      ),
    );
    for (const client of [monitor, redis]) {
      const ended = new Promise((resolve) => client.once("end", resolve));
      client.disconnect();
      await ended;
    }
    expectNoLeaks();
  });

  it("debug output, and all else that a process prints", async () => {
    const { text, secrets: sought } = await runProgram(server.host, server.port);
    expect(text).to.match(/sluice:command .*write auth \[ '\?' \]/);
    const namespaces = new Set([...text.matchAll(/sluice:([a-z]+) /g)].map(([, name]) => name));
    expect([...namespaces]).to.include.members(NAMESPACES);
    expect(text).to.match(/UnhandledPromiseRejectionWarning: ReplyError/);
    expect(sought.values.size).to.be.greaterThan(100);
    for (const [place, secret] of sought.values) secrets.add(place, secret);
    witness.take("output", text);
    expectNoLeaks();
  });
});
