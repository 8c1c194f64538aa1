/** Which replies change what the link knows of its connection, and what they change. */

import { expect } from "chai";
import { Batch, BatchKind } from "../../../src/command/batch";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { SubscriptionKind, Subscriptions } from "../../../src/connection/subscriptions";
import { ReplyError } from "../../../src/errors";
import { OpenTransaction } from "../../../src/link/open-transaction";
import { LinkReplies, type LinkReplyDeps } from "../../../src/link/replies";
import { Ending } from "../../support/ending";

describe("LinkReplies that change the state", () => {
  const made: Command[] = [];
  let told: string[];
  let followed: number;
  let connection: { isMonitoring: boolean; setProtocol(protocol: number): void } | null;
  let subscriptions: Subscriptions;
  let replies: LinkReplies;

  beforeEach(() => {
    told = [];
    followed = 0;
    connection = { isMonitoring: false, setProtocol: (protocol) => void told.push(`RESP${protocol}`) };
    subscriptions = new Subscriptions();
    subscriptions.add(SubscriptionKind.Channel, Buffer.from("news"));
    const current = {
      get connection() {
        return connection;
      },
      set agreed(db: number) {
        told.push(`selected ${db}`);
      },
    };
    const deps = {
      current,
      subscriptions,
      fieldsets: { prepareAll: () => void told.push("fieldsets") },
      onQuit: () => void told.push("quit"),
      onMonitoring: () => void told.push("monitoring"),
      updateDirect: () => void followed++,
    };
    replies = new LinkReplies(deps as unknown as LinkReplyDeps, { redirects: () => false });
  });
  afterEach(() => {
    for (const one of made.splice(0)) one.fail(new Error("the test is over"));
  });

  function follow(name: string, args: string[] = [], reply: unknown = "OK", kind?: BatchKind): string[] {
    const one = new Command(specOf(name), args, false, new Ending());
    made.push(one);
    if (kind !== undefined) one.batch = new Batch(kind, 1, null);
    replies.follow(one, reply as never);
    return told;
  }

  it("follows SELECT, but not inside of a transaction, where it has only been queued", () => {
    expect(follow("select", ["3"])).to.deep.equal(["selected 3"]);
    expect(follow("select", ["4"], "QUEUED", BatchKind.Transaction)).to.deep.equal(["selected 3"]);
    expect(follow("select", ["5"], "OK", BatchKind.Pipeline)).to.deep.equal(["selected 3", "selected 5"]);
  });

  it("follows the protocol that HELLO has agreed on, and no other word of it", () => {
    follow("hello", ["3"]);
    follow("hello", ["2"]);
    follow("hello");
    expect(follow("hello", ["4"])).to.deep.equal(["RESP3", "RESP2"]);
    expect(subscriptions.isEmpty).to.equal(false);
  });

  it("forgets with RESET what the server forgets: subscriptions, protocol, fieldsets", () => {
    expect(follow("reset", [], "RESET")).to.deep.equal(["RESP2", "fieldsets"]);
    expect(subscriptions.isEmpty).to.equal(true);
  });

  it("notes on the connection that the server prints what it executes", () => {
    expect(follow("monitor")).to.deep.equal(["monitoring"]);
    expect(connection?.isMonitoring).to.equal(true);
  });

  it("says that the server is about to close", () => {
    expect(follow("quit")).to.deep.equal(["quit"]);
  });

  it("tells the link of each reply that it has followed", () => {
    follow("watch", ["k"]);
    follow("multi");
    expect(followed).to.equal(2);
  });

  it("stands a connection that is gone by the time of the reply", () => {
    connection = null;
    follow("hello", ["3"]);
    follow("reset", [], "RESET");
    expect(follow("monitor")).to.deep.equal(["fieldsets", "monitoring"]);
  });

  it("names in the reply to EXEC the commands of a transaction opened by hand that have failed", () => {
    const transaction = new OpenTransaction();
    const members = [["multi"], ["incr", "text"], ["get", "k"]].map(([name = "", ...args]) => {
      const one = new Command(specOf(name), args, false, new Ending());
      made.push(one);
      transaction.join(one);
      one.fulfil("QUEUED", { protocol: 2, replyMapping: "legacy" });
      return one;
    });
    const exec = new Command(specOf("exec"), [], false, new Ending());
    made.push(exec);
    exec.ensureExtra().group = transaction;
    const error = new ReplyError("ERR value is not an integer");
    replies.follow(exec, [error, "v"]);
    expect(members).to.have.length(3);
    expect(error.command?.name).to.equal("incr");
  });
});
