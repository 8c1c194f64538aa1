/** Errors as a log line, a debugger and a program see them: code, command, name. */

import { inspect, types } from "node:util";
import { expect } from "chai";
import * as sluice from "../../src/index";
import { Command, type ErrorCode, OutcomeUnknownError, ReplyError, SluiceError } from "../../src/index";
import { copyError } from "../../src/util/copy-error";
import { ServerFixture } from "../support/server-fixture";

type Failure = Error & { code?: ErrorCode; command?: { name: string; args: unknown[] } };

async function failureOf(outcome: Promise<unknown>): Promise<Failure> {
  return outcome.then(
    (value) => {
      throw new Error(`It was answered: ${String(value)}`);
    },
    (error: Failure) => error,
  );
}

function commandOf({ command }: Failure): unknown[] | undefined {
  return command === undefined ? undefined : [command.name, ...command.args];
}

describe("errors", () => {
  const fixture = new ServerFixture().install();

  it("of commands carry their code and their command as own properties", async () => {
    const redis = fixture.connectDirectly({ enableOfflineQueue: false, lazyConnect: true });
    const failures: [string, Failure, unknown[]][] = [];
    failures.push(["OFFLINE_QUEUE_DISABLED", await failureOf(redis.get("a")), ["get", "a"]]);
    await new Promise<void>((resolve) => redis.once("ready", () => resolve()));
    await redis.set("text", "x");
    failures.push(["REPLY", await failureOf(redis.incr("text")), ["incr", "text"]]);
    const aborted = redis.with({ signal: AbortSignal.abort() });
    failures.push(["ABORTED_BY_SIGNAL", await failureOf(aborted.get("a")), ["get", "a"]]);
    const tooLate = redis.with({ timeout: 20 }).blpop("none", 0);
    failures.push(["COMMAND_TIMEOUT", await failureOf(tooLate), ["blpop", "none", "0"]]);
    const unreadable = { toString: null } as unknown as string;
    failures.push(["INVALID_ARGUMENT", await failureOf(redis.set("a", unreadable)), ["set"]]);
    failures.push(["UNANSWERED_COMMAND", await failureOf(redis.call("client", "reply", "off")), ["client"]]);
    const rows = await redis.pipeline().incr("text").set("a", unreadable).exec();
    failures.push(["REPLY", rows?.[0]?.[0] as Failure, ["incr", "text"]]);
    failures.push(["INVALID_ARGUMENT", rows?.[1]?.[0] as Failure, ["set"]]);
    const members = await redis.multi().get("text").incr("text").exec();
    failures.push(["REPLY", members?.[1]?.[0] as Failure, ["incr", "text"]]);
    redis.disconnect();
    failures.push(["CONNECTION_CLOSED", await failureOf(redis.get("a")), ["get", "a"]]);
    const byHand = new Command("get", ["b"]);
    void redis.sendCommand(byHand);
    failures.push(["CONNECTION_CLOSED", await failureOf(byHand.promise), ["get", "b"]]);
    for (const [code, error, command] of failures) {
      expect(Object.keys(error), code).to.include.members(["code", "command"]);
      expect(error.code).to.equal(code);
      expect(commandOf(error), code).to.deep.equal(command);
      expect(JSON.parse(JSON.stringify(error))).to.include({ code });
      expect(inspect(error)).to.include(`'${code}'`);
    }
  });

  it("of a command that may have run do not read like the harmless case", async () => {
    const redis = fixture.connect({ retryStrategy: null });
    await redis.ping();
    fixture.proxy.stall("toClient");
    const written = redis.incr("n");
    await new Promise((resolve) => setTimeout(resolve, 20));
    redis.disconnect();
    const doubtful = await failureOf(written);
    const harmless = await failureOf(redis.incr("n"));
    expect([doubtful.code, harmless.code]).to.deep.equal(["OUTCOME_UNKNOWN", "CONNECTION_CLOSED"]);
    expect(doubtful.name).to.equal("OutcomeUnknownError");
    expect(doubtful.stack).to.match(/^OutcomeUnknownError: .*may have run/);
    expect(inspect(doubtful)).to.match(/OutcomeUnknownError.*may have run/);
    expect(commandOf(doubtful)).to.deep.equal(["incr", "n"]);
    // Programs compare the message; it is the same.
    expect(doubtful.message).to.equal(harmless.message);
  });

  it("pass structuredClone with their message", async () => {
    const redis = fixture.connect({ retryStrategy: null });
    await redis.set("text", "x");
    fixture.proxy.stall("toClient");
    const written = [redis.incr("n"), redis.incr("n"), redis.incr("text")];
    await new Promise((resolve) => setTimeout(resolve, 20));
    redis.disconnect();
    const failures = [
      ...(await Promise.all(written.map(failureOf))),
      copyError(new ReplyError("ERR a copy")),
    ];
    for (const failure of failures) {
      const cloned: Error = structuredClone(failure);
      expect(cloned).to.be.an.instanceOf(Error);
      expect(cloned.message).to.equal(failure.message);
      expect(types.isNativeError(failure)).to.equal(true);
    }
    expect(failures[1]).not.to.equal(failures[0]);
  });

  it("keep the names of their classes whatever a bundler calls them", () => {
    for (const [name, value] of Object.entries(sluice)) {
      if (typeof value !== "function" || !(value.prototype instanceof Error)) continue;
      const own = Object.getOwnPropertyDescriptor(value, "name");
      expect(own?.value, name).to.equal(name);
      expect(Object.hasOwn(value.prototype, "name"), name).to.equal(true);
    }
  });

  it("and their codes are exported", () => {
    expect(new OutcomeUnknownError()).to.be.an.instanceOf(SluiceError);
    expect(new ReplyError("WRONGTYPE")).to.include({ code: "REPLY", name: "ReplyError" });
    expect(Object.keys(sluice).filter((name) => name.endsWith("Error"))).to.have.length.greaterThan(45);
    const code: ErrorCode = new sluice.ClusterAllFailedError(undefined).code;
    expect(code).to.equal("CLUSTER_ALL_FAILED");
  });
});

describe("the stack of an error", () => {
  const fixture = new ServerFixture().install();

  it("of the server names the command and hides its values", async () => {
    const redis = fixture.connectDirectly();
    await redis.set("{k}text", "secret-value");
    const single = await failureOf(redis.lpush("{k}text", "secret-value"));
    expect(single.stack).to.equal(`ReplyError: ${single.message}\n    at (lpush {k}text ?)`);
    expect(single.message).to.not.include("lpush");
    const rows = await redis.pipeline().incr("{k}text").hset("{k}text", "field", "secret-value").exec();
    expect(rows?.[0]?.[0]?.stack).to.match(/\n {4}at \(incr \{k\}text\)$/);
    expect(rows?.[1]?.[0]?.stack).to.match(/\n {4}at \(hset \{k\}text field \?\)$/);
    const many = await failureOf(redis.call("sadd", ["{k}text", ..."abcdefgh"]));
    expect(many.stack).to.match(/\n {4}at \(sadd \{k\}text \? \? \? \.\.\.\)$/);
    const auth = await failureOf(redis.auth("user-name", "secret-password"));
    expect(auth.stack).to.not.include("secret-password");
    const odd = await failureOf(
      redis.incr(`{k}${"long".repeat(100)}\r\n`).then(() => redis.call("incr", "{k}text", "\r\n")),
    );
    expect(odd.stack?.split("\n")).to.have.length(2);
  });

  it("is the caller's with showFriendlyErrorStack, formatted when the command fails", async function callHere() {
    const redis = fixture.connectDirectly({ showFriendlyErrorStack: true });
    await redis.set("text", "x");
    const single = await failureOf(redis.incr("text"));
    // The caller's line is the first one, as in ioredis; the command is in `error.command`.
    expect(single.stack).to.match(/^ReplyError: .*\n {4}at .*callHere.*errors-as-logged/);
    const rows = await redis.pipeline().incr("text").exec();
    expect(rows?.[0]?.[0]?.stack).to.match(/^ReplyError: .*\n {4}at .*callHere.*errors-as-logged/);
    const original = Error.prepareStackTrace;
    let formatted = 0;
    Error.prepareStackTrace = () => {
      formatted++;
      return "formatted";
    };
    try {
      for (let n = 0; n < 100; n++) await redis.get("text");
      expect(formatted).to.equal(0);
    } finally {
      Error.prepareStackTrace = original;
    }
  });
});
