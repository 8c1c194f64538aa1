/** The judge of error replies: which rule takes a command over, in which order, and what fails with its error. */

import { expect } from "chai";
import { Batch, BatchKind } from "../../../src/command/batch";
import { Command, issuedBy, Origin } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { ConnectionState } from "../../../src/connection/connection-state";
import type { LinkOptions } from "../../../src/link/link-options";
import type { LinkReplies } from "../../../src/link/replies";
import { SelectedDb } from "../../../src/link/selected-db";
import { Ending } from "../../support/ending";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";

describe("LinkReplies that are errors", () => {
  let home: InVirtualTime<
    typeof import("../../../src/link/replies") &
      typeof import("../../../src/connection/handshake") &
      typeof import("../../../src/errors")
  >;
  let told: string[];
  let selected: SelectedDb;
  let replies: LinkReplies;
  let connection: {
    state: ConnectionState;
    scripts: { forget(sha: string): void };
    queue: object;
    serverMode: string | null;
  };
  let isRedirected: boolean;
  let isUnblocked: boolean;
  /** The fieldset of the command is prepared again. */
  let isRecovered: boolean;
  const made: Command[] = [];

  before(() => {
    home = inVirtualTime(() => ({
      ...require("../../../src/link/replies"),
      ...require("../../../src/connection/handshake"),
      ...require("../../../src/errors"),
    }));
  });

  beforeEach(() => {
    home.time.reset();
    make();
  });

  afterEach(() => {
    for (const one of made.splice(0)) one.fail(new Error("the test is over"));
  });

  function make(options: LinkOptions = {}): void {
    told = [];
    selected = new SelectedDb(0);
    [isRedirected, isUnblocked, isRecovered] = [false, false, false];
    connection = {
      state: ConnectionState.Ready,
      scripts: { forget: (sha) => void told.push(`forget ${sha}`) },
      queue: { pending: () => [] },
      serverMode: null,
    };
    const deps = {
      options: { retryStrategy: () => 0, ...options },
      current: {
        connection,
        resend: () => void told.push("resent"),
        setDb: (db: number) => void told.push(`database ${db}`),
        abandonOpen: () => void told.push("no transaction"),
        unblocker: { takes: () => isUnblocked },
      },
      offline: { requeue: () => void told.push("requeued") },
      session: { selected },
      fieldsets: { recovers: () => isRecovered },
      reconnect: () => void told.push("reconnect"),
      onTurnedAway: () => void told.push("turned away"),
      report: (type: string) => void told.push(type),
    };
    replies = new home.modules.LinkReplies(deps as never, { redirects: () => isRedirected });
  }

  function command(name = "get", ...args: string[]): Command {
    const one = new Command(specOf(name), args.length > 0 ? args : ["k"], false, new Ending());
    made.push(one);
    return one;
  }

  function inBatch(kind: BatchKind, one = command("set", "k", "v")): Command {
    new Batch(kind, 0, null).add(one);
    return one;
  }

  const judge = (said: string, one = command()): boolean =>
    replies.judge(one, new home.modules.ReplyError(said));

  it("lets an ordinary error fail its command", () => {
    expect(judge("WRONGTYPE no")).to.equal(false);
    expect(told).to.deep.equal([]);
  });

  it("sends a script again by its text, once", () => {
    const script = { sha: "abc", bySha: specOf("evalsha"), byText: specOf("eval"), text: "return 1" };
    const call = command("evalsha", "abc", "0");
    call.ensureExtra().script = script as never;
    expect(judge("NOSCRIPT No matching script", call)).to.equal(true);
    expect(told).to.deep.equal(["forget abc", "resent"]);
    call.become(specOf("eval"), "return 1");
    told.length = 0;
    expect(judge("NOSCRIPT says the script itself", call)).to.equal(false);
    expect(judge("NOSCRIPT No matching script", command("evalsha", "abc", "0")), "by hand").to.equal(false);
  });

  it("leaves a command that its caller has given up where it is", () => {
    isRedirected = true;
    const one = command();
    one.fail(new Error("given up"));
    expect(judge("MOVED 1 h:1", one)).to.equal(false);
    isUnblocked = true;
    expect(judge("UNBLOCKED", one), "the unblocker wants to know").to.equal(true);
  });

  it("asks the unblocker before the cluster, and the user before it", () => {
    isUnblocked = true;
    expect(judge("UNBLOCKED")).to.equal(true);
    make({ reconnectOnError: () => 2 });
    isRedirected = true;
    expect(judge("MOVED 1 h:1")).to.equal(true);
    expect(told).to.deep.equal(["reconnect", "requeued"]);
    make();
    isRedirected = true;
    expect(judge("READONLY You can't write")).to.equal(true);
    expect(told, "the cluster has it").to.deep.equal([]);
  });

  it("does what reconnectOnError answers", () => {
    for (const [verdict, wanted] of [
      [false, []],
      [0, []],
      ["2", []],
      [true, ["reconnect"]],
      [1, ["reconnect"]],
      [2, ["reconnect", "requeued"]],
    ] as const) {
      make({ reconnectOnError: () => verdict });
      expect(judge("ERR any"), String(verdict)).to.equal(verdict === 2);
      expect(told, String(verdict)).to.deep.equal(wanted);
    }
  });

  it("sends no member of a transaction alone, and the transaction not again", () => {
    make({ reconnectOnError: () => 2 });
    const member = inBatch(BatchKind.Transaction);
    expect(judge("ERR any", member)).to.equal(false);
    expect(told).to.deep.equal(["reconnect"]);
    expect(member.batch?.isRefused).to.equal(true);
    make({ reconnectOnError: () => 2 });
    expect(judge("ERR any", inBatch(BatchKind.Pipeline))).to.equal(true);
  });

  it("does not ask about errors of commands of the API's own", () => {
    make({ reconnectOnError: () => 2 });
    expect(judge("ERR any", command("client", "info"))).to.equal(false);
    expect(told).to.deep.equal([]);
  });

  it("leaves a server that cannot serve, and sends the command again", () => {
    for (const said of ["READONLY You can't write", "MASTERDOWN Link is down", "LOADING Redis is loading"]) {
      make();
      expect(judge(said), said).to.equal(true);
      expect(told, said).to.deep.equal(["reconnect", "requeued"]);
    }
    make();
    expect(judge("READONLYX no")).to.equal(false);
    expect(judge("READONLY no", inBatch(BatchKind.Transaction)), "its caller retries it").to.equal(false);
    expect(told).to.deep.equal(["reconnect"]);
  });

  it("does not leave a server that was chosen so, nor one that it could not come back to", () => {
    for (const options of [
      { readOnly: true },
      { role: "slave" },
      { retryStrategy: null },
      { reconnectOnError: () => false },
    ] as const) {
      make(options as LinkOptions);
      expect(judge("READONLY no"), Object.keys(options)[0]).to.equal(false);
      expect(told).to.deep.equal([]);
    }
  });

  it("takes along what else is refused on a connection that it leaves already", () => {
    connection.state = ConnectionState.Draining;
    for (let i = 0; i < 3; i++) expect(judge("READONLY no")).to.equal(true);
    expect(told).to.deep.equal(["requeued", "requeued", "requeued"]);
  });

  it("leaves less and less often while that does not help, and at once again after it has", () => {
    const leaves = (afterMs: number): boolean => {
      home.time.nowMs += afterMs;
      return judge("READONLY no");
    };
    expect(leaves(0)).to.equal(true);
    expect(leaves(999)).to.equal(false);
    expect(leaves(1)).to.equal(true);
    expect(leaves(1999), "twice as long").to.equal(false);
    expect(leaves(1)).to.equal(true);
    replies.onArrival("replica");
    expect(leaves(3999)).to.equal(false);
    replies.onArrival("master");
    expect(leaves(1)).to.equal(true);
    expect(leaves(1999)).to.equal(false);
    for (let i = 0; i < 10; i++) leaves(30_000);
    expect(leaves(29_999)).to.equal(false);
    expect(leaves(1), "30 s at most").to.equal(true);
    expect(leaves(60_001)).to.equal(true);
    expect(leaves(1000), "long ago is as never").to.equal(true);
  });

  it("notes what a refusal means for the database", () => {
    selected.db = 99;
    judge("ERR DB index is out of range", command("select", "7"));
    expect([selected.db, told], "another SELECT followed").to.deep.equal([99, []]);
    judge("ERR DB index is out of range", command("select", "99"));
    expect([selected.db, told.splice(0)]).to.deep.equal([0, ["database 0"]]);
    judge("ERR MULTI calls can not be nested", command("multi"));
    expect(told).to.deep.equal([]);
    selected.note(command("multi"));
    judge("NOPERM no rights", command("multi"));
    expect([selected.isOpen, told.splice(0)]).to.deep.equal([false, ["no transaction"]]);
    judge("EXECABORT discarded", command("exec"));
    expect(told, "the link hears that it has failed").to.deep.equal([]);
  });

  it("tells listeners of a refused MONITOR", () => {
    judge("NOPERM no", command("monitor"));
    expect(told).to.deep.equal(["error"]);
  });

  it("leaves the connection its own commands, and tells when the server closes the door", () => {
    isRedirected = true;
    const own = (): Command => issuedBy(Origin.Connection, command("hello", "3"));
    expect(judge("MOVED 1 h:1", own())).to.equal(false);
    expect(judge("ERR max number of clients reached", own()), "it is open").to.equal(false);
    const error = new home.modules.ReplyError("NOPERM");
    replies.judge(own(), error);
    expect(error.command).to.include({ name: "hello" });
    expect(told).to.deep.equal([]);
    connection.state = ConnectionState.Handshaking;
    expect(judge("ERR max number of clients reached", own())).to.equal(false);
    expect(told).to.deep.equal(["turned away"]);
  });

  it("settles what a handshake only tells, whatever the answer, unless the server closes the door", () => {
    const sent: Command[] = [];
    const dialled = {
      state: ConnectionState.Handshaking,
      dispatchBatch: (commands: readonly Command[]) => void sent.push(...commands),
      setProtocol: () => {},
    };
    const introduction = {
      options: { protocol: 2 },
      databases: [0],
      credentials: {},
    };
    new home.modules.Handshake(dialled as never, introduction, { onError() {}, onOutcome() {} }).begin();
    made.push(...sent);
    const [version, name, id] = sent as [Command, Command, Command];
    connection.state = ConnectionState.Handshaking;
    const error = new home.modules.ReplyError("ERR unknown subcommand");
    expect(replies.judge(version, error)).to.equal(true);
    expect([version.isSettled, error.command]).to.deep.equal([true, undefined]);
    expect(judge("ERR unknown subcommand", id), "the answer is looked at").to.equal(false);
    expect(told).to.deep.equal([]);
    expect(judge("ERR max number of clients reached", name)).to.equal(false);
    expect(told).to.deep.equal(["turned away"]);
  });

  it("names the command on the error, and says why a Sentinel does not know it", () => {
    connection.serverMode = "sentinel";
    const error = new home.modules.ReplyError("ERR unknown command 'get'");
    replies.judge(command(), error);
    expect(error.command).to.deep.equal({ name: "get", args: ["k"] });
    expect(error.hint).to.contain("is a Sentinel");
  });

  it("leaves a command to its fieldset, which is prepared again", () => {
    isRecovered = true;
    expect([judge("ERR no such fieldset"), told]).to.deep.equal([true, []]);
  });
});
