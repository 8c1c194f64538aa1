/**
 * The sentinel connector over scripted sentinels and sockets: sentinels that know, do not know, refuse and
 * say nothing, news of a new master, connections that are given up. An attempt leads to an address that a
 * sentinel has told in it, a round asks each sentinel once, and nothing is left open.
 */

import { Duplex } from "node:stream";
import { expect } from "chai";
import fc from "fast-check";
import type { SentinelClient, SentinelClientOptions } from "../../../src/sentinel/sentinel-client";
import type { SentinelConnector } from "../../../src/sentinel/sentinel-connector";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";
import { fixedRuns } from "../../support/properties";

type Behaviour = "knows" | "knows nothing" | "refuses" | "silent";

const SENTINELS = 3;
/** More than one sentinel that is silent may take. */
const QUESTION_MS = 400;
const DISCONNECT_MS = 50;

type Step =
  | { readonly do: "connect" | "disconnect" | "switch" | "lost ear" | "ready" }
  | { readonly do: "behave"; readonly at: number; readonly as: Behaviour }
  | { readonly do: "wait"; readonly ms: number };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.constantFrom<Step>(
        { do: "connect" },
        { do: "ready" },
        { do: "switch" },
        { do: "lost ear" },
      ),
    },
    { weight: 1, arbitrary: fc.constant<Step>({ do: "disconnect" }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant("behave" as const),
        at: fc.nat(SENTINELS - 1),
        as: fc.constantFrom<Behaviour>("knows", "knows nothing", "refuses", "silent"),
      }),
    },
    {
      weight: 5,
      arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.constantFrom(1, 20, 500, 3000) }),
    },
  ),
  { maxLength: 40, size: "max" },
);

/** A socket that is open until one of both ends it. */
class ModelSocket extends Duplex {
  constructor(readonly target: string) {
    super();
  }

  override _read(): void {}

  override _write(_chunk: Buffer, _encoding: string, done: () => void): void {
    done();
  }
}

interface Attempt {
  outcome: ModelSocket | Error | null;
  /** Addresses that sentinels have told since it began. */
  readonly told: string[];
  isGivenUp: boolean;
  isChecked: boolean;
}

describe("the sentinel connector, on random programs", () => {
  let home: InVirtualTime<typeof import("../../../src/sentinel/sentinel-connector")>;
  const net = require("node:net") as { createConnection: unknown };
  const { createConnection } = net;

  before(() => {
    home = inVirtualTime(() => require("../../../src/sentinel/sentinel-connector"));
    net.createConnection = ({ host, port }: { host: string; port: number }) =>
      new ModelSocket(`${host}:${port}`);
  });
  after(() => {
    net.createConnection = createConnection;
  });

  class Bench {
    private readonly behaviours: Behaviour[] = ["knows", "knows", "knows"];
    /** Clients that were not told to disconnect: for a question, or to listen. */
    private readonly questions = new Set<number>();
    private readonly ears = new Set<(event: string, ...args: string[]) => void>();
    private readonly attempts: Attempt[] = [];
    /** Sentinels that were asked since the last round ended. */
    private round: number[] = [];
    private master = 1;
    /** Kept until the end: the connector swallows errors of its listeners. */
    private readonly problems: string[] = [];
    private readonly connector: SentinelConnector;

    constructor(private readonly retries: boolean) {
      this.connector = new home.modules.SentinelConnector({
        sentinels: Array.from({ length: SENTINELS }, (_, i) => ({ host: "s", port: 1000 + i })),
        name: "group",
        disconnectTimeout: DISCONNECT_MS,
        sentinelRetryStrategy: retries ? () => 10 : null,
        updateSentinels: false,
      });
      this.connector.useClients((options) => this.makeClient(options));
    }

    async run(program: readonly Step[]): Promise<void> {
      for (const step of program) {
        this.step(step);
        if (step.do === "wait") await home.pass(step.ms);
        this.check();
      }
      this.behaviours.fill("knows");
      const last = this.connect();
      await home.pass(SENTINELS * QUESTION_MS + 100);
      expect(last.outcome, "the address of the master").to.be.instanceOf(ModelSocket);
      expect((last.outcome as ModelSocket).target).to.equal(`m:${this.master}`);
      for (const one of this.attempts) expect(one.outcome, "every attempt ends").to.not.equal(null);
      this.connector.disconnect();
      (last.outcome as ModelSocket).destroy();
      await home.pass(2 * DISCONNECT_MS);
      this.check();
      expect([this.questions.size, this.ears.size], "clients left").to.deep.equal([0, 0]);
      await home.pass(QUESTION_MS);
      expect(home.time.pending, "timers").to.equal(0);
      for (const { outcome } of this.attempts)
        if (outcome instanceof ModelSocket && outcome.writableEnded)
          expect(outcome.destroyed, "a peer that does not hang up is hung up on").to.equal(true);
      expect(this.problems).to.deep.equal([]);
    }

    private step(step: Step): void {
      if (step.do === "connect") this.connect();
      else if (step.do === "disconnect") this.giveUp();
      else if (step.do === "behave") this.behaviours[step.at] = step.as;
      else if (step.do === "ready") {
        // Once for each connection, when its handshake is over.
        const last = this.attempts.at(-1);
        if (!(last?.outcome instanceof ModelSocket) || last.isChecked) return;
        last.isChecked = true;
        this.connector.check({ role: "master" });
      } else if (step.do === "switch") this.switchMaster();
      else if (step.do === "lost ear") for (const tell of [...this.ears]) tell("reconnecting");
    }

    private connect(): Attempt {
      for (const one of this.attempts) one.isGivenUp = true;
      const attempt: Attempt = { outcome: null, told: [], isGivenUp: false, isChecked: false };
      this.attempts.push(attempt);
      this.round = [];
      const onError = (type: string): void => {
        if (type === "error") {
          if (this.round.length !== SENTINELS) this.problems.push(`a round asked ${this.round}`);
          this.round = [];
        }
      };
      this.connector.connect(onError).then(
        (stream) => {
          const socket = stream as ModelSocket;
          attempt.outcome = socket;
          if (!attempt.told.includes(socket.target)) this.problems.push(`nobody told ${socket.target}`);
          if (attempt.isGivenUp) this.problems.push("an attempt that was given up has a socket");
        },
        (error: Error & { code?: string }) => {
          attempt.outcome = error;
          const asExpected = attempt.isGivenUp
            ? error.code === "CONNECTION_CLOSED"
            : !this.retries && this.round.length === SENTINELS;
          if (!asExpected) this.problems.push(`${error.message}, after asking ${this.round}`);
        },
      );
      return attempt;
    }

    private giveUp(): void {
      for (const one of this.attempts) one.isGivenUp = true;
      this.connector.disconnect();
      expect(this.ears.size, "nobody listens").to.equal(0);
    }

    /** The socket to the former master is ended by who hears of it. */
    private switchMaster(): void {
      this.master++;
      const isHeard = this.ears.size > 0;
      const news = [
        ["+promoted-slave", `slave x m ${this.master} @ group m ${this.master - 1}`],
        ["+switch-master", `group m ${this.master - 1} m ${this.master}`],
      ] as const;
      // Every other failover is led by a sentinel that is listened to.
      for (const [channel, message] of news.slice(this.master % 2))
        for (const tell of [...this.ears]) tell("message", channel, message);
      const last = this.attempts.at(-1)?.outcome;
      if (isHeard && last instanceof ModelSocket && !last.destroyed)
        expect(last.writableEnded, "half-closed").to.equal(true);
    }

    private makeClient({ port, retryStrategy }: SentinelClientOptions): SentinelClient {
      const at = port - 1000;
      const listeners = new Map<string, (...args: string[]) => void>();
      const tell = (event: string, ...args: string[]): void => listeners.get(event)?.(...args);
      let fail: (error: Error) => void = () => {};
      if (retryStrategy === null) {
        this.questions.add(at);
        // Rounds for another one to listen to have no end that is told.
        if (this.attempts.at(-1)?.outcome === null) this.round.push(at);
      } else this.ears.add(tell);
      return {
        on: (event, listener) => listeners.set(event, listener),
        subscribe: () => Promise.resolve(1),
        sentinel: () =>
          new Promise((resolve, reject) => {
            fail = reject;
            const attempt = this.attempts.at(-1);
            const behaviour = this.behaviours[at];
            home.time.after(behaviour === "silent" ? QUESTION_MS : 2, () => {
              if (behaviour === "knows") {
                attempt?.told.push(`m:${this.master}`);
                resolve(["m", String(this.master)]);
              } else if (behaviour === "knows nothing") resolve(null);
              else reject(new Error(behaviour));
            });
          }),
        disconnect: () => {
          this.questions.delete(at);
          this.ears.delete(tell);
          fail(new Error("disconnected"));
        },
      };
    }

    private check(): void {
      expect(this.questions.size, "one sentinel is asked at a time").to.be.at.most(1);
      expect(this.ears.size, "one is listened to").to.be.at.most(1);
      expect(new Set(this.round).size, "nobody is asked twice in a round").to.equal(this.round.length);
    }
  }

  for (const retries of [true, false]) {
    it(`leads where a sentinel has said, ${retries ? "with" : "without"} another try`, async () => {
      await fc.assert(
        fc.asyncProperty(steps, (program) => home.live(() => new Bench(retries).run(program))),
        fixedRuns(300),
      );
    });
  }
});
