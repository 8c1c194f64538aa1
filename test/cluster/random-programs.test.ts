/**
 * Random programs for a cluster whose nodes answer at random: redirects, "not now", errors, lines
 * that end before or after a command ran. Every call settles once, with the answer of its own
 * command; what was answered is never sent again; transactions come whole; tries are bounded.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import fc from "fast-check";
import type { RetryPolicy } from "../../src/command/command-extra";
import { Cluster } from "../../src/index";
import { closeCluster } from "../support/cluster-fixture";
import { FakeCluster, type FakeNode } from "../support/fake-cluster";
import { type FakeConnection, type FakeReply, NO_REPLY, status } from "../support/fake-server";
import { fixedRuns } from "../support/properties";

const LONG = process.env.SLUICE_LONG === "1";
const NODES = 3;
const PATIENCE_MS = 30_000;

/** The answer of a node to a command; from a certain one on all of them answer properly. */
const TROUBLE = [
  "moved",
  "moved to itself",
  "ask",
  "try again",
  "down",
  "loading",
  "readonly",
  "error",
  /** The line ends and the command did not run. */
  "lose",
  /** It ran and the line ends. */
  "run and lose",
] as const;
type Answer = (typeof TROUBLE)[number] | "answer";

type Step =
  | { readonly do: "single"; readonly key: number }
  | { readonly do: "pipeline" | "multi"; readonly keys: readonly number[] }
  | { readonly do: "pause"; readonly ms: number }
  | { readonly do: "refresh" };

interface Program {
  readonly steps: readonly Step[];
  readonly answers: readonly { readonly answer: Answer; readonly node: number }[];
  readonly policy: RetryPolicy;
  readonly isAutomatic: boolean;
  readonly maxRedirections: number;
}

const key = fc.nat(60);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("single" as const), key }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom("pipeline" as const, "multi" as const),
      keys: fc.array(key, { minLength: 1, maxLength: 12 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("pause" as const), ms: fc.nat(6) }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: "refresh" }) },
);
const program: fc.Arbitrary<Program> = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 12 }),
  answers: fc.array(
    fc.record({
      answer: fc.oneof(
        { weight: 2, arbitrary: fc.constant<Answer>("answer") },
        { weight: 1, arbitrary: fc.constantFrom<Answer>(...TROUBLE) },
      ),
      node: fc.nat(NODES - 1),
    }),
    { maxLength: 60 },
  ),
  policy: fc.constantFrom<RetryPolicy>("at-least-once", "reads-only", "at-most-once"),
  isAutomatic: fc.boolean(),
  maxRedirections: fc.constantFrom(16, 3),
});

interface Transaction {
  readonly tokens: string[];
  isFlawed: boolean;
}

/** The nodes, as the program tells them to be, and what came to them. */
class Stage {
  readonly faults: string[] = [];
  readonly arrivals = new Map<string, number>();
  readonly runs = new Map<string, number>();
  /** Tokens whose caller was told a reply already. */
  readonly told = new Set<string>();
  /** Tokens of the whole transaction, by each of them. */
  readonly transactions = new Map<string, readonly string[]>();
  losses = 0;
  private turn = 0;
  private readonly open = new WeakMap<FakeConnection, Transaction>();
  private readonly invited = new WeakSet<FakeConnection>();
  /** Tokens that were asked to come behind ASKING, with the node that expects them. */
  private readonly expected = new Map<string, FakeNode>();

  constructor(
    private readonly fake: FakeCluster,
    private readonly program: Program,
  ) {
    for (const node of fake.nodes) node.script = (words, from) => this.take(node, words, from);
  }

  private take(node: FakeNode, words: string[], from: FakeConnection): FakeReply | undefined {
    // Commands behind the one that ended the connection are not run.
    if (from.socket.destroyed) return NO_REPLY;
    const name = words[0]?.toLowerCase();
    if (name === "asking") this.invited.add(from);
    if (name === "multi") {
      this.open.set(from, { tokens: [], isFlawed: false });
      return status("OK");
    }
    if (name === "exec") return this.execute(node, from);
    if (name !== "set") return undefined;
    const reply = this.set(node, words, from);
    this.invited.delete(from);
    return reply;
  }

  private set(node: FakeNode, [, name = "", token = ""]: string[], from: FakeConnection): FakeReply {
    this.arrivals.set(token, (this.arrivals.get(token) ?? 0) + 1);
    if (this.told.has(token)) this.faults.push(`${token} came again after its caller was told`);
    const open = this.open.get(from);
    if (this.transactions.has(token) !== (open !== undefined)) {
      this.faults.push(`${token} came ${open === undefined ? "outside of" : "inside"} MULTI`);
    }
    open?.tokens.push(token);
    const wasAsked = this.expected.get(token) === node;
    if (wasAsked && open === undefined && !this.invited.has(from)) {
      this.faults.push(`${token} came without ASKING`);
    }
    this.expected.delete(token);
    const { answer, node: index } = this.next();
    const other = this.fake.node(index);
    const slot = calculateSlot(name);
    const flawed = (message: string): FakeReply => {
      if (open !== undefined) open.isFlawed = true;
      return new Error(message);
    };
    switch (answer) {
      case "moved":
        return flawed(`MOVED ${slot} ${other.key}`);
      case "moved to itself":
        return flawed(`MOVED ${slot} ${node.key}`);
      case "ask":
        this.expected.set(token, other);
        return flawed(`ASK ${slot} ${other.key}`);
      case "try again":
        return flawed("TRYAGAIN Multiple keys request during rehashing of slot");
      case "down":
        return flawed("CLUSTERDOWN The cluster is down");
      case "loading":
        return flawed("LOADING Redis is loading the dataset in memory");
      case "readonly":
        return flawed("READONLY You can't write against a read only replica.");
      case "lose":
        return this.lose(node, from);
      case "run and lose":
        if (open === undefined) this.run(token);
        return this.lose(node, from);
      default:
        if (open !== undefined) return status("QUEUED");
        this.run(token);
        return answer === "error" ? new Error(`ERR ${token}`) : token;
    }
  }

  private execute(node: FakeNode, from: FakeConnection): FakeReply {
    const open = this.open.get(from);
    this.open.delete(from);
    if (open === undefined) return new Error("ERR EXEC without MULTI");
    if (open.isFlawed) return new Error("EXECABORT Transaction discarded because of previous errors.");
    const { answer } = this.next();
    if (answer === "lose") return this.lose(node, from);
    const whole = this.transactions.get(open.tokens[0] ?? "") ?? [];
    if (whole.join() !== open.tokens.join()) this.faults.push(`of ${whole} there came ${open.tokens}`);
    for (const token of open.tokens) this.run(token);
    return answer === "run and lose" ? this.lose(node, from) : open.tokens;
  }

  private run(token: string): void {
    this.runs.set(token, (this.runs.get(token) ?? 0) + 1);
  }

  private lose(node: FakeNode, from: FakeConnection): FakeReply {
    this.losses++;
    // The commands that were asked to come here begin anew, at the owner of their slot.
    for (const [token, asked] of this.expected) if (asked === node) this.expected.delete(token);
    from.socket.destroy();
    return NO_REPLY;
  }

  private next(): Program["answers"][number] {
    return this.program.answers[this.turn++] ?? { answer: "answer", node: 0 };
  }
}

type Failure = Error & { readonly code?: string };
const MAY_HAVE_RUN = ["OUTCOME_UNKNOWN", "COMMAND_LOST"];
const DID_NOT_RUN = ["TOO_MANY_REDIRECTIONS", "ABORTED"];

class Run {
  private count = 0;
  private readonly calls: Promise<void>[] = [];
  private readonly fates = new Map<string, string[]>();

  constructor(
    private readonly cluster: Cluster,
    private readonly stage: Stage,
    private readonly program: Program,
  ) {}

  async take(step: Step): Promise<void> {
    const { cluster } = this;
    switch (step.do) {
      case "single": {
        const token = this.token();
        this.note([token], cluster.set(`key${step.key}`, token), (value) => [[null, value]]);
        return;
      }
      case "pipeline": {
        const pipeline = cluster.pipeline();
        const tokens = step.keys.map((one) => this.token((token) => pipeline.set(`key${one}`, token)));
        this.note(tokens, pipeline.exec(), (rows) => rows as Row[]);
        return;
      }
      case "multi": {
        const transaction = cluster.multi();
        const tag = step.keys[0] ?? 0;
        const tokens = step.keys.map((one) =>
          this.token((token) => transaction.set(`{key${tag}}${one}`, token)),
        );
        for (const token of tokens) this.stage.transactions.set(token, tokens);
        this.note(tokens, transaction.exec(), (rows) => rows as Row[]);
        return;
      }
      case "pause":
        await sleep(step.ms);
        return;
      case "refresh":
        this.calls.push(
          cluster.refreshSlotsCache().then(
            () => {},
            () => {},
          ),
        );
    }
  }

  async verdict(): Promise<readonly string[]> {
    const { stage, program } = this;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<"late">((resolve) => {
      timer = setTimeout(() => resolve("late"), PATIENCE_MS);
    });
    const isLate = (await Promise.race([Promise.all(this.calls), late])) === "late";
    clearTimeout(timer);
    const { faults, runs, arrivals, losses } = stage;
    for (const [token, fates] of this.fates) {
      const count = runs.get(token) ?? 0;
      const fate = fates.join();
      const most = program.policy === "at-least-once" ? 1 + losses : 1;
      if (fates.length !== 1) faults.push(`${token} settled ${fates.length} times, ${isLate}`);
      if (fate === "done" ? count < 1 : fate === "not run" && count > 0) {
        faults.push(`${token} ran ${count} times and is ${fate}`);
      }
      if (count > most) faults.push(`${token} ran ${count} times under ${program.policy}`);
      const tries = arrivals.get(token) ?? 0;
      if (tries > program.maxRedirections + 1 + losses) faults.push(`${token} was sent ${tries} times`);
    }
    return faults;
  }

  private token(use: (token: string) => void = () => {}): string {
    const token = `token ${++this.count}`;
    this.fates.set(token, []);
    use(token);
    return token;
  }

  private note(tokens: readonly string[], call: Promise<unknown>, rowsOf: (value: unknown) => Row[]): void {
    this.calls.push(
      call.then(
        (value) => {
          const rows = rowsOf(value);
          for (const [i, token] of tokens.entries()) this.settle(token, rows[i] ?? [new Error("no row")]);
        },
        (error: Failure) => {
          for (const token of tokens) this.settle(token, [error]);
        },
      ),
    );
  }

  private settle(token: string, [error, value]: Row): void {
    this.stage.told.add(token);
    const fates = this.fates.get(token) as string[];
    if (error === null && value !== token) this.stage.faults.push(`${token} got ${String(value)}`);
    fates.push(error === null ? "done" : this.fateOf(token, error));
  }

  private fateOf(token: string, { code = "", message }: Failure): string {
    if (code === "REPLY" && message === `ERR ${token}`) return "done";
    if (MAY_HAVE_RUN.includes(code)) return "unknown";
    if (!DID_NOT_RUN.includes(code)) this.stage.faults.push(`${token} failed with ${code} ${message}`);
    return "not run";
  }
}

type Row = readonly [error: Failure | null, value?: unknown];

describe("random programs for a cluster", function () {
  this.timeout(LONG ? 3_600_000 : 120_000);
  let fake: FakeCluster;
  let cluster: Cluster;
  beforeEach(async () => {
    fake = await FakeCluster.start(NODES);
  });
  afterEach(() => fake.stop());

  it("every call settles once, with its own answer, and nothing is sent again that was answered", async () => {
    await fc.assert(
      fc.asyncProperty(program, async (one) => {
        const stage = new Stage(fake, one);
        cluster = new Cluster(fake.seeds, {
          lazyConnect: true,
          maxRedirections: one.maxRedirections,
          enableAutoPipelining: one.isAutomatic,
          retryDelayOnClusterDown: 1,
          retryDelayOnTryAgain: 1,
          retryDelayOnFailover: 1,
          clusterRetryStrategy: () => 1,
          retryPolicy: one.policy,
        });
        cluster.on("error", () => {});
        try {
          await cluster.connect();
          const run = new Run(cluster, stage, one);
          for (const step of one.steps) await run.take(step);
          expect(await run.verdict()).to.deep.equal([]);
        } finally {
          await closeCluster(cluster);
        }
      }),
      fixedRuns(80),
    );
  });
});
