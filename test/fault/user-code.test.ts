/**
 * Functions of the user that throw, or give something odd, neither unwind the client nor wedge
 * it: the call they belong to ends, all others go on, and what was thrown is not swallowed.
 */

import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { AbstractConnector, Command, Redis } from "../../src/index";
import { closeClient, untilReady } from "../support/matrix";
import { failureOf, outcomeOf } from "../support/outcome";
import { sharedServer } from "../support/shared-servers";
import { uncaughtDuring } from "../support/uncaught";

const NO_ERROR = "A function threw a value that is not an Error. The value is the cause of this error.";

describe("code of the user", () => {
  let server: ServerProcess;
  let address: { host: string; port: number };
  before(async () => {
    server = await sharedServer(ServerKind.Redis);
    address = { host: server.host, port: server.port };
  });

  async function withClient(options: RedisOptions, body: (redis: Redis) => Promise<void>): Promise<void> {
    const redis = new Redis({ ...address, retryStrategy: (times) => (times > 3 ? null : 1), ...options });
    redis.on("error", () => {});
    try {
      await body(redis);
    } finally {
      await closeClient(redis);
    }
  }

  describe("on the way of a reply", () => {
    afterEach(() => Command.setReplyTransformer("echo", undefined as never));

    it("a tracer that throws loses no reply, neither its own nor others", async () => {
      const thrown = await uncaughtDuring(() =>
        withClient({}, async (redis) => {
          await redis.ping();
          const builtIn = Redis.prototype.sendCommand;
          redis.sendCommand = function (command) {
            const result = builtIn.call(this, command);
            command.resolve = () => {
              throw new Error("from resolve");
            };
            command.reject = () => {
              throw new Error("from reject");
            };
            return result;
          };
          const calls = [redis.echo("a"), redis.call("nonsense"), redis.echo("b")];
          const outcomes = await Promise.all(calls.map((call) => outcomeOf(call)));
          expect(outcomes.map(([state]) => state)).to.deep.equal(["fulfilled", "rejected", "fulfilled"]);
        }),
      );
      expect(thrown).to.deep.equal(["from reject", "from resolve", "from resolve"]);
    });

    for (const showFriendlyErrorStack of [false, true]) {
      it(`a transformer that throws no error, friendly stacks ${showFriendlyErrorStack}`, async () => {
        Command.setReplyTransformer("echo", () => {
          const nothing = undefined as unknown as Error;
          throw nothing;
        });
        await withClient({ showFriendlyErrorStack }, async (redis) => {
          expect(await outcomeOf(redis.echo("a"))).to.deep.equal(["rejected", NO_ERROR]);
          const rows = (await redis.pipeline().echo("b").ping().exec()) as [Error | null, unknown][];
          expect(rows.map(([error, value]) => error?.message ?? value)).to.deep.equal([NO_ERROR, "PONG"]);
          const inside = (await redis.multi().echo("c").ping().exec()) as [Error | null, unknown][];
          expect(inside.map(([error, value]) => error?.message ?? value)).to.deep.equal([NO_ERROR, "PONG"]);
        });
      });
    }

    it("a frozen error is handed on as it is", async () => {
      const frozen = Object.freeze(new Error("frozen"));
      Command.setReplyTransformer("echo", () => {
        throw frozen;
      });
      await withClient({ showFriendlyErrorStack: true }, async (redis) => {
        expect(await redis.echo("a").catch((error) => error)).to.equal(frozen);
      });
    });
  });

  it("a listener of a scan stream that throws is an uncaught exception, not a rejection", async () => {
    const origins: string[] = [];
    const note = (_error: Error, origin: string): void => void origins.push(origin);
    process.on("uncaughtExceptionMonitor", note);
    const thrown = await uncaughtDuring(() =>
      withClient({}, async (redis) => {
        const scanned = new Promise<void>((resolve) => {
          redis.scanStream().on("data", () => {
            resolve();
            throw new Error("from a listener");
          });
        });
        await scanned;
        expect(await redis.ping()).to.equal("PONG");
      }),
    );
    process.off("uncaughtExceptionMonitor", note);
    expect(thrown).to.deep.equal(["from a listener"]);
    expect(origins).to.deep.equal(["uncaughtException"]);
  });

  describe("instead of sendCommand", () => {
    it("what it returns is what the caller gets, and nothing is rejected unheard", async () => {
      const thrown = await uncaughtDuring(() =>
        withClient({}, async (redis) => {
          await redis.ping();
          const builtIn = Redis.prototype.sendCommand;
          redis.sendCommand = async function (command) {
            const value = await builtIn.call(this, command);
            return command.name === "echo" ? "changed" : value;
          };
          expect(await redis.echo("a")).to.equal("changed");
          expect((await outcomeOf(redis.call("nonsense")))[0]).to.equal("rejected");
          const rows = (await redis.pipeline().call("nonsense").ping().exec()) as [Error | null, unknown][];
          expect(rows[0]?.[0]).to.be.an("error");
          expect(rows[1]).to.deep.equal([null, "PONG"]);
        }),
      );
      expect(thrown).to.deep.equal([]);
    });

    it("one that throws for a member fails that member, and a transaction as a whole", async () => {
      await withClient({}, async (redis) => {
        await redis.ping();
        const builtIn = Redis.prototype.sendCommand;
        redis.sendCommand = function (command) {
          if (command.args[0] === "bad") throw new Error("from sendCommand");
          return builtIn.call(this, command);
        };
        expect(await outcomeOf(redis.get("bad"))).to.deep.equal(["rejected", "from sendCommand"]);
        const rows = (await redis.pipeline().get("bad").echo("x").exec()) as [Error | null, unknown][];
        expect(rows.map(([error, value]) => error?.message ?? value)).to.deep.equal([
          "from sendCommand",
          "x",
        ]);
        const whole = redis.multi().set("user:whole", 1).get("bad").exec();
        expect((await outcomeOf(whole as Promise<unknown>))[1]).to.match(/^ABORTED: EXECABORT/);
        expect(await redis.get("user:whole")).to.equal(null);
      });
    });

    it("one that spoils arguments harms only its own command", async () => {
      await withClient({}, async (redis) => {
        await redis.set("user:7", "seven");
        const good = new Command("get", ["x"], { replyEncoding: "utf8" });
        (good.args as unknown[])[0] = { toString: () => "user:7" };
        const bad = new Command("get", ["x"]);
        (bad.args as unknown[])[0] = Object.create(null);
        expect(await redis.sendCommand(good)).to.equal("seven");
        expect((await outcomeOf(redis.sendCommand(bad)))[1]).to.match(
          /^INVALID_ARGUMENT: Argument 1 of "get"/,
        );
        expect(await redis.ping()).to.equal("PONG");
      });
    });
  });

  describe("as connector", () => {
    interface Ways {
      connect(): Promise<Duplex>;
      check?(): boolean;
      disconnect?(): void;
    }

    function connectorOf(ways: Ways): NonNullable<RedisOptions["Connector"]> {
      return class extends AbstractConnector {
        constructor() {
          super(2000);
        }
        override connect(): Promise<Duplex> {
          return ways.connect();
        }
        override check(): boolean {
          return ways.check?.() ?? true;
        }
        override disconnect(): void {
          ways.disconnect?.();
        }
      };
    }

    const WAYS: Record<string, [connect: () => Promise<Duplex>, message: RegExp]> = {
      "that throws": [
        () => {
          throw new Error("thrown by connect");
        },
        /^thrown by connect$/,
      ],
      "that rejects with nothing": [() => Promise.reject(undefined), new RegExp(`^${NO_ERROR}`)],
      "that gives nothing": [() => Promise.resolve(undefined as never), /^The connector returned no socket/],
      "that gives something else": [() => ({}) as never, /^The connector returned no socket/],
    };
    for (const [title, [dial, message]] of Object.entries(WAYS)) {
      it(`one ${title} ends the client with its error`, async () => {
        await withClient({ Connector: connectorOf({ connect: dial }) }, async (redis) => {
          const [state, text] = await outcomeOf(redis.get("a"));
          expect([state, redis.status]).to.deep.equal(["rejected", "end"]);
          expect(text).to.match(message);
        });
      });
    }

    it("one whose check throws has reached the wrong server", async () => {
      const thrown = await uncaughtDuring(() =>
        withClient(
          {
            Connector: connectorOf({
              connect: async () => connect(address),
              check: () => {
                throw new Error("from check");
              },
            }),
          },
          async (redis) => {
            expect(await outcomeOf(redis.get("a"))).to.deep.equal([
              "rejected",
              "CONNECTION_CLOSED: Connection is closed.",
            ]);
          },
        ),
      );
      expect([...new Set(thrown)]).to.deep.equal(["from check"]);
    });

    it("one whose disconnect throws keeps nobody from closing", async () => {
      const thrown = await uncaughtDuring(async () => {
        const Connector = connectorOf({
          connect: async () => connect(address),
          disconnect: () => {
            throw new Error("from disconnect");
          },
        });
        await withClient({ Connector }, (redis) => untilReady(redis));
      });
      expect([...new Set(thrown)]).to.deep.equal(["from disconnect"]);
    });
  });

  describe("as source of credentials", () => {
    const SOURCES: Record<string, [source: () => unknown, message: RegExp | null]> = {
      "gives nothing": [() => null, /must return \{ username, password \}/],
      "gives a number as password": [() => ({ password: 5 }), null],
      throws: [
        () => {
          throw new Error("no credentials");
        },
        /^no credentials$/,
      ],
      "rejects with nothing": [() => Promise.reject(undefined), new RegExp(`^${NO_ERROR}`)],
      "gives what cannot be read": [
        () => ({
          get password(): string {
            throw new Error("unreadable");
          },
        }),
        /^unreadable$/,
      ],
    };
    for (const [title, [credentials, message]] of Object.entries(SOURCES)) {
      it(`one that ${title}`, async () => {
        const warn = console.warn;
        console.warn = () => {};
        try {
          await withClient({ credentials: credentials as never }, async (redis) => {
            if (message === null) {
              expect(await redis.ping()).to.equal("PONG");
              return;
            }
            // The source is asked again for every attempt. The error of the call has that of the last one as its cause.
            const { code, cause } = await failureOf(redis.ping());
            expect(code).to.equal("CONNECTION_CLOSED");
            expect((cause as Error).message).to.match(message);
          });
        } finally {
          console.warn = warn;
        }
      });
    }
  });

  describe("as strategy", () => {
    it("a retryStrategy that throws ends the client and every call", async () => {
      const thrown = await uncaughtDuring(async () => {
        const retryStrategy = (): number => {
          throw new Error("from retryStrategy");
        };
        const redis = new Redis({ host: "127.0.0.1", port: 1, retryStrategy });
        redis.on("error", () => {});
        expect((await outcomeOf(redis.get("a")))[0]).to.equal("rejected");
        expect(redis.status).to.equal("end");
      });
      expect(thrown).to.deep.equal(["from retryStrategy"]);
    });

    it("a delay beyond what timers take is not a delay of nothing", async () => {
      const attempts: number[] = [];
      const redis = new Redis({
        host: "127.0.0.1",
        port: 1,
        retryStrategy: (times) => {
          attempts.push(times);
          return Number.POSITIVE_INFINITY;
        },
      });
      redis.on("error", () => {});
      await new Promise((resolve) => setTimeout(resolve, 60));
      await closeClient(redis);
      expect(attempts).to.deep.equal([1]);
    });

    it("a reconnectOnError that throws leaves the error to the caller", async () => {
      const thrown = await uncaughtDuring(() =>
        withClient(
          {
            reconnectOnError: () => {
              throw new Error("from reconnectOnError");
            },
          },
          async (redis) => {
            expect((await outcomeOf(redis.call("nonsense")))[0]).to.equal("rejected");
            expect(await redis.ping()).to.equal("PONG");
          },
        ),
      );
      expect(thrown).to.deep.equal(["from reconnectOnError"]);
    });
  });
});
