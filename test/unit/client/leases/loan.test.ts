/** One lease over a scripted server: what is sent at its end, and which connection another lessee may get. */

import { expect } from "chai";
import { type Lessor, Loan } from "../../../../src/client/leases/loan";
import type { PooledConnection } from "../../../../src/client/leases/pooled-connection";
import { Command } from "../../../../src/command/command";
import { specOf } from "../../../../src/command/command-table";
import { PromiseCompletion } from "../../../../src/command/promise-completion";
import { type FakeReply, FakeServer, NO_REPLY, status } from "../../../support/fake-server";
import { codeOf, failureOf } from "../../../support/outcome";
import { openPooled } from "../../../support/pooled-connection";

/** The replies of a server without special cases. */
const REPLIES: Readonly<Record<string, FakeReply>> = {
  discard: status("OK"),
  exec: [],
  get: "value",
  multi: status("OK"),
  subscribe: ["subscribe", "news", 1],
  unsubscribe: ["unsubscribe", "news", 0],
  unwatch: status("OK"),
  watch: status("OK"),
};

describe("Loan", () => {
  let server: FakeServer;
  let connection: PooledConnection;
  let released: boolean[];
  let refused: string[];
  let loan: Loan;

  beforeEach(async () => {
    server = await FakeServer.start(([word = ""]) => REPLIES[word]);
    released = [];
    refused = [];
    const listener = { onStatus() {}, onNamedError() {}, onSelect() {}, onGap() {}, onNameRefused() {} };
    connection = openPooled(server, {}, { listener, messages: null });
    const lessor: Lessor = {
      onReleased: (_loan, isClean) => void released.push(isClean),
      onRefused: ({ message }) => void refused.push(message),
    };
    loan = new Loan(lessor);
    loan.connection = connection;
    connection.borrower = loan;
  });
  afterEach(async () => {
    connection.close();
    await server.stop();
  });

  function make(text: string): Command {
    const [name = "", ...args] = text.split(" ");
    const command = new Command(specOf(name), args, false, new PromiseCompletion());
    // It may fail before the test looks at it.
    command.promise.catch(() => {});
    return command;
  }

  function issue(text: string): Promise<unknown> {
    const command = make(text);
    loan.dispatch(command);
    return command.promise;
  }

  async function issueAll(...texts: string[]): Promise<void> {
    for (const text of texts) await issue(text);
  }

  const received = (): string =>
    server.received
      .map(([name = ""]) => name)
      .filter((name) => !/^(?:hello|info|client)$/i.test(name))
      .join(" ");

  it("passes commands on, and returns an idle connection without a round trip", async () => {
    expect(await issue("get k")).to.equal("value");
    await loan.release();
    expect([received(), released]).to.deep.equal(["get", [true]]);
  });

  it("notes the commands of batches too", async () => {
    const batch = [make("watch k"), make("get k")];
    loan.dispatchBatch(batch);
    await Promise.all(batch.map(({ promise }) => promise));
    await loan.release();
    expect([received(), released]).to.deep.equal(["watch get unwatch", [true]]);
  });

  it("undoes what its lessee has changed, step by step", async () => {
    await issueAll("watch k", "multi");
    await loan.release();
    expect([received(), released]).to.deep.equal(["watch multi discard", [true]]);
  });

  it("ends subscriptions before it sends anything else", async () => {
    await issueAll("watch k", "subscribe news");
    await loan.release();
    expect([received(), released]).to.deep.equal(["watch subscribe unsubscribe unwatch", [true]]);
  });

  it("waits for unanswered commands", async () => {
    const value = issue("get k");
    await loan.release();
    expect([received(), released, await value]).to.deep.equal(["get unwatch", [true], "value"]);
  });

  it("closes a connection whose server has refused MULTI or EXEC", async () => {
    server.handler = ([word = ""]) =>
      word === "multi" || word === "exec" ? new Error("NOPERM no permissions") : REPLIES[word];
    await issue("watch k");
    const outcomes = [issue("multi"), issue("exec")];
    // The refusals arrive while the loan cleans up.
    await loan.release();
    expect(await Promise.all(outcomes.map(codeOf))).to.deep.equal(["REPLY", "REPLY"]);
    expect(released).to.deep.equal([false]);
  });

  it("closes a connection that it cannot clean", async () => {
    server.handler = ([word = ""]) =>
      word === "unwatch" ? new Error("ERR not now") : (REPLIES[word] ?? undefined);
    await issue("watch k");
    await loan.release();
    expect(released).to.deep.equal([false]);
  });

  it("tolerates a server that has no subscription to end", async () => {
    server.handler = ([word = ""]) =>
      word === "unsubscribe"
        ? new Error("NOSUB 'unsubscribe' command executed not in subscribed mode")
        : REPLIES[word];
    await issueAll("subscribe news");
    await loan.release();
    expect(released).to.deep.equal([true]);
  });

  it("closes a connection that the server may hold, without waiting", async () => {
    server.handler = ([word = ""]) => (word === "blpop" ? NO_REPLY : REPLIES[word]);
    const blocked = issue("blpop k 0");
    await loan.release();
    expect([received().includes("unwatch"), released]).to.deep.equal([false, [false]]);
    connection.close();
    expect(await codeOf(blocked)).not.to.equal("fulfilled");
  });

  it("closes a connection with settings that last", async () => {
    await issue("client setname mine");
    await loan.release();
    expect(released).to.deep.equal([false]);
  });

  it("is released once, and refuses later commands", async () => {
    const ends = [loan.release(), loan.release()];
    expect(ends[0]).to.equal(ends[1]);
    await Promise.all(ends);
    const batch = [make("get a"), make("get b")];
    loan.dispatchBatch(batch);
    const calls = [issue("get k"), ...batch.map(({ promise }) => promise)];
    expect(await Promise.all(calls.map(codeOf))).to.deep.equal(Array(3).fill("LEASE_RELEASED"));
    expect([received(), released]).to.deep.equal(["", [true]]);
  });

  it("tells its listener of the end, once", async () => {
    let ends = 0;
    const ignore = (): void => {};
    connection.listener = {
      onMessage: ignore,
      onShardLost: ignore,
      onOtherPush: ignore,
      onMonitorLine: ignore,
      onGap: ignore,
      onNameRefused: ignore,
      onReady: ignore,
      onEnd: () => ends++,
    };
    await loan.release();
    expect([ends, connection.listener]).to.deep.equal([1, null]);
  });

  it("passes refusals of the server to its lessor", () => {
    loan.onRefused(new Error("MOVED 1 a:1"));
    expect(refused).to.deep.equal(["MOVED 1 a:1"]);
  });

  it("leaves with QUIT, unless a command blocks", async () => {
    await issue("get k");
    await loan.leave();
    expect(received()).to.equal("get quit");
  });

  it("leaves a blocked connection alone", async () => {
    server.handler = ([word = ""]) => (word === "blpop" ? NO_REPLY : REPLIES[word]);
    await issue("get k");
    const blocked = issue("blpop k 0");
    await loan.leave();
    expect(received()).not.to.include("quit");
    connection.close();
    expect((await failureOf(blocked)).name).not.to.equal("ReplyError");
  });
});
