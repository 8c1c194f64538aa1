import { expect } from "chai";
import { Batch, BatchKind } from "../../../src/command/batch";
import { type Command, CommandState, type Completion } from "../../../src/command/command";
import { makeCommand } from "../../../src/command/command-factory";
import { specOf } from "../../../src/command/command-table";
import { ParserError } from "../../../src/errors";
import { keptAfterLoss } from "../../support/lost-commands";

describe("the commands of a lost connection", () => {
  const failures = new Map<Command, string>();
  const completion: Completion = {
    fulfil() {},
    reject(command, error) {
      failures.set(command, (error as { code?: string }).code ?? error.message);
    },
  };
  let made: Command[] = [];
  beforeEach(() => {
    failures.clear();
    made = [];
  });
  afterEach(() => {
    for (const command of made) command.fail(new Error("the test is over"));
  });

  function make(name: string, batch: Batch | null = null): Command {
    const command = makeCommand(specOf(name), ["key"], false, completion);
    command.state = CommandState.Sent;
    made.push(command);
    if (batch !== null) batch.add(command);
    return command;
  }

  const codes = (commands: readonly Command[]): (string | undefined)[] =>
    commands.map((command) => failures.get(command));

  it("sends only reads again while the server may still be at work, or what the caller allows", () => {
    const sent = [make("incr"), make("get"), make("incr")];
    (sent[2] as Command).ensureExtra().retryPolicy = "at-least-once";
    const again = keptAfterLoss({ sent, unsent: [] }, { mayStillRun: true });
    expect(again).to.deep.equal(sent.slice(1));
    expect(codes(sent)).to.deep.equal(["OUTCOME_UNKNOWN", undefined, undefined]);
  });

  it("sends single commands again in order, written ones first", () => {
    const sent = [make("incr"), make("get")];
    const unsent = [make("set")];
    expect(keptAfterLoss({ sent, unsent })).to.deep.equal([...sent, ...unsent]);
  });

  it("gives up the command that was the oldest in three losses, and nobody else", () => {
    const sent = [make("eval"), make("get")];
    for (let loss = 1; loss <= 2; loss++) {
      expect(keptAfterLoss({ sent, unsent: [] })).to.deep.equal(sent);
    }
    expect(keptAfterLoss({ sent, unsent: [] })).to.deep.equal([sent[1]]);
    expect(codes(sent)).to.deep.equal(["COMMAND_LOST", undefined]);
  });

  it("names what may have run under at-most-once and reads-only", () => {
    const sent = [make("incr"), make("get")];
    const unsent = [make("incr")];
    expect(keptAfterLoss({ sent, unsent }, { retryPolicy: "at-most-once" })).to.deep.equal(unsent);
    expect(codes(sent)).to.deep.equal(["OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN"]);
    const again = [make("incr"), make("get")];
    expect(keptAfterLoss({ sent: again, unsent: [] }, { retryPolicy: "reads-only" })).to.deep.equal([
      again[1],
    ]);
  });

  it("lets a command's own policy win over the client's", () => {
    const sent = [make("incr"), make("incr")];
    (sent[0] as Command).ensureExtra().retryPolicy = "at-most-once";
    expect(keptAfterLoss({ sent, unsent: [] })).to.deep.equal([sent[1]]);
  });

  it("says why a command is not sent again: its own policy, the one of the client, or the server at work", () => {
    const texts: string[] = [];
    const told: Completion = {
      fulfil() {},
      reject: (_, error) => void texts.push(error.message),
    };
    const all = (["at-most-once", "at-least-once", null] as const).map((retryPolicy) => {
      const one = makeCommand(specOf("incr"), ["key"], false, told);
      one.state = CommandState.Sent;
      one.ensureExtra().retryPolicy = retryPolicy;
      return one;
    });
    expect(keptAfterLoss({ sent: all, unsent: [] }, { mayStillRun: true })).to.deep.equal([all[1]]);
    expect(texts[0]).to.contain('"at-most-once"');
    expect(texts[1]).to.contain("still be running");
    all[1]?.fail(new Error("the test is over"));
  });

  it("sends an unanswered batch again as a whole, and an answered one not at all", () => {
    const fresh = new Batch(BatchKind.Pipeline, 0, null);
    const begun = new Batch(BatchKind.Pipeline, 0, null);
    begun.isAnswered = true;
    const sent = [make("set", begun), make("set", fresh), make("get", fresh)];
    const unsent = [make("set", fresh), make("set", begun)];
    // The rest of the begun batch follows on the wire after the fresh one only in this test.
    expect(keptAfterLoss({ sent, unsent })).to.deep.equal([sent[1], sent[2], unsent[0]]);
    expect([failures.get(sent[0] as Command), failures.get(unsent[1] as Command)]).to.deep.equal([
      "OUTCOME_UNKNOWN",
      "ABORTED",
    ]);
  });

  it("refuses the whole batch when one of its commands may not go again", () => {
    const batch = new Batch(BatchKind.Pipeline, 0, null);
    const sent = [make("set", batch)];
    const unsent = [make("set", batch)];
    expect(keptAfterLoss({ sent, unsent }, { retryPolicy: "at-most-once" })).to.deep.equal([]);
    expect(codes([...sent, ...unsent])).to.deep.equal(["OUTCOME_UNKNOWN", "ABORTED"]);
  });

  it("treats the commands of an automatic batch as single ones", () => {
    const batch = new Batch(BatchKind.Automatic, 0, null);
    batch.isAnswered = true;
    const sent = [make("incr", batch), make("get", batch)];
    expect(keptAfterLoss({ sent, unsent: [] })).to.deep.equal(sent);
  });

  it("sends a guarded transaction again only behind its WATCH", () => {
    const alone = new Batch(BatchKind.Transaction, 0, null);
    alone.isGuarded = true;
    const sent = [make("multi", alone), make("exec", alone)];
    expect(keptAfterLoss({ sent, unsent: [] })).to.deep.equal([]);
    const behind = new Batch(BatchKind.Transaction, 0, null);
    behind.isGuarded = true;
    const whole = [make("watch"), make("multi", behind), make("exec", behind)];
    expect(keptAfterLoss({ sent: whole, unsent: [] })).to.deep.equal(whole);
  });

  it("does not say of a command that was written before that it did not run", () => {
    const batch = new Batch(BatchKind.Pipeline, 0, null);
    const all = [make("incr", batch), make("incr", batch)];
    expect(keptAfterLoss({ sent: all, unsent: [] })).to.deep.equal(all);
    batch.isAnswered = true;
    const never = make("incr", batch);
    expect(keptAfterLoss({ sent: [], unsent: [...all, never] })).to.deep.equal([]);
    expect(codes([...all, never])).to.deep.equal(["OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN", "ABORTED"]);
  });

  it("after garbage, what was written fails with that and what was not goes again", () => {
    const sent = [make("get")];
    const unsent = [make("get")];
    const rules = { protocolError: new ParserError("garbage") };
    expect(keptAfterLoss({ sent, unsent }, rules)).to.deep.equal(unsent);
    expect(codes(sent)).to.deep.equal(["PROTOCOL"]);
  });
});
