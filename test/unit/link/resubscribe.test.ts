/** Restoring subscriptions: what is sent, what a refusal means, and how long subscribers heard nothing. */

import { tracingChannel } from "node:diagnostics_channel";
import { expect } from "chai";
import { type Command, Origin } from "../../../src/command/command";
import type { Connection } from "../../../src/connection/connection";
import type { WriteListener } from "../../../src/connection/flush-encoder";
import {
  type SubscriptionGap as Gap,
  SubscriptionKind,
  Subscriptions,
} from "../../../src/connection/subscriptions";
import { ConnectionClosedError, ReplyError } from "../../../src/errors";
import type { LinkListener } from "../../../src/link/link-options";
import { restoreSubscriptions, type SubscriptionGap } from "../../../src/link/resubscribe";
import type { PubSubContext } from "../../../src/observability/work-channels";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";

const SHAPE = { protocol: 2, replyMapping: "legacy" } as const;

describe("restoreSubscriptions", () => {
  let subscriptions: Subscriptions;
  let commands: Command[];
  let told: string[];

  beforeEach(() => {
    subscriptions = new Subscriptions();
    [commands, told] = [[], []];
  });
  afterEach(() => {
    for (const one of commands) one.fail(new Error("the test is over"));
  });

  function restore(): string[] {
    const connection = { dispatch: (command: Command) => void commands.push(command) };
    restoreSubscriptions(
      connection as unknown as Connection,
      subscriptions,
      (_kind, _name, { message }) => void told.push(message),
      () => void told.push(subscriptions.isEmpty ? "restored without names" : "restored"),
    );
    return commands.map(({ spec, args }) => [spec.lowerName, ...args.map(String)].join(" "));
  }

  function subscribe(kind: SubscriptionKind, ...names: string[]): void {
    for (const name of names) subscriptions.add(kind, Buffer.from(name));
  }

  it("asks for channels and patterns with one command each, for sharded channels one by one", () => {
    subscribe(SubscriptionKind.Channel, "a", "b");
    subscribe(SubscriptionKind.Pattern, "p*", "q*");
    subscribe(SubscriptionKind.Shard, "s", "t");
    expect(restore()).to.deep.equal(["subscribe a b", "psubscribe p* q*", "ssubscribe s", "ssubscribe t"]);
    expect(new Set(commands.map(({ origin }) => origin))).to.deep.equal(new Set([Origin.Restore]));
  });

  it("keeps names byte for byte", () => {
    subscriptions.add(SubscriptionKind.Channel, Buffer.from([0xff, 0x00, 0x80]));
    restore();
    expect(commands[0]?.args).to.deep.equal([Buffer.from([0xff, 0x00, 0x80])]);
  });

  it("is done when the last of them is answered, whatever the answer", () => {
    subscribe(SubscriptionKind.Channel, "a");
    subscribe(SubscriptionKind.Shard, "s", "t");
    restore();
    commands[0]?.fulfil(1, SHAPE);
    commands[1]?.fail(new ReplyError("NOPERM no"));
    expect(told).to.deep.equal(["NOPERM no"]);
    commands[2]?.fulfil(1, SHAPE);
    expect(told).to.deep.equal(["NOPERM no", "restored"]);
  });

  it("reports a refusal and forgets its names before it is done", () => {
    subscribe(SubscriptionKind.Channel, "a");
    restore();
    commands[0]?.fail(new ReplyError("NOPERM no"));
    expect(told).to.deep.equal(["NOPERM no", "restored without names"]);
  });

  it("asks again for the halves of a refused command, and forgets only the refused names", () => {
    subscribe(SubscriptionKind.Channel, "a", "b", "c");
    subscribe(SubscriptionKind.Pattern, "b");
    restore();
    const refused = Buffer.from("b");
    for (const command of commands) {
      const { spec, args } = command;
      const isRefused =
        spec.lowerName === "subscribe" && args.some((name) => refused.equals(Buffer.from(name)));
      if (isRefused) command.fail(new ReplyError(`NOPERM ${args}`));
      else command.fulfil(1, SHAPE);
    }
    const asked = commands.map(({ spec, args }) => `${spec.lowerName} ${args}`);
    expect(asked).to.deep.equal([
      "subscribe a,b,c",
      "psubscribe b",
      "subscribe a",
      "subscribe b,c",
      "subscribe b",
      "subscribe c",
    ]);
    expect(told).to.deep.equal(["NOPERM b", "restored"]);
    expect(subscriptions.names(SubscriptionKind.Channel).map(String)).to.deep.equal(["a", "c"]);
    expect(subscriptions.names(SubscriptionKind.Pattern).map(String)).to.deep.equal(["b"]);
  });

  it("keeps all of them when the connection is lost meanwhile: the next one asks again", () => {
    subscribe(SubscriptionKind.Channel, "a");
    restore();
    commands[0]?.fail(new ConnectionClosedError());
    expect(told).to.deep.equal([]);
    expect(subscriptions.size(SubscriptionKind.Channel)).to.equal(1);
  });

  it("sends nothing without subscriptions", () => {
    expect(restore()).to.deep.equal([]);
    expect(told).to.deep.equal([]);
  });
});

describe("SubscriptionGap", () => {
  let home: InVirtualTime<
    typeof import("../../../src/link/resubscribe") &
      typeof import("../../../src/connection/subscriptions") &
      Pick<typeof import("../../../src/errors"), "ReplyError">
  >;
  let subscriptions: Subscriptions;
  let gap: SubscriptionGap;
  let gaps: Gap[];

  before(() => {
    home = inVirtualTime(() => ({
      ...require("../../../src/link/resubscribe"),
      ...require("../../../src/connection/subscriptions"),
      ...require("../../../src/errors"),
    }));
  });

  function gapFor(
    listener: Partial<LinkListener>,
    tracer: Partial<WriteListener> | null = null,
  ): SubscriptionGap {
    const deps = { listener: listener as LinkListener, tracer: tracer as WriteListener | null };
    return new home.modules.SubscriptionGap(subscriptions, deps);
  }

  function live(work: () => Promise<void>): Promise<void> {
    return home.live(async () => {
      gaps = [];
      subscriptions = new home.modules.Subscriptions();
      gap = gapFor({ onGap: (one) => void gaps.push(one), onNameRefused() {} });
      await work();
    });
  }

  const listen = (): void => subscriptions.add(SubscriptionKind.Channel, Buffer.from("news"));

  it("lasts from the last byte before the first loss to the restoring, through lost attempts between", () =>
    live(async () => {
      listen();
      gap.begin(home.time.nowMs - 1000);
      await home.pass(300);
      gap.begin(home.time.nowMs);
      await home.pass(200);
      gap.end();
      expect(gaps).to.deep.equal([{ channels: ["news"], patterns: [], shardChannels: [], lastedMs: 1500 }]);
      await home.pass(100);
      gap.end();
      expect(gaps).to.have.length(1);
    }));

  it("is none without subscriptions, when it begins or when it ends", () =>
    live(async () => {
      gap.begin(home.time.nowMs);
      listen();
      gap.end();
      gap.begin(home.time.nowMs);
      subscriptions.clear();
      gap.end();
      expect(gaps).to.deep.equal([]);
    }));

  it("is told to listeners from its first loss to its end, with the server and the error", () =>
    live(async () => {
      const heard: [event: string, context: PubSubContext][] = [];
      const note = (event: string) => (context: object) =>
        void heard.push([event, { ...(context as PubSubContext) }]);
      const nothing = (): void => {};
      const handlers = {
        start: note("start"),
        asyncEnd: note("over"),
        error: note("error"),
        end: nothing,
        asyncStart: nothing,
      };
      const channel = tracingChannel<unknown, PubSubContext>("sluice:pubsub");
      channel.subscribe(handlers);
      try {
        const server = { serverAddress: "10.0.0.1", serverPort: 6379 };
        gap = gapFor({ onGap() {}, onNameRefused() {} }, { server: () => server });
        gap.begin(home.time.nowMs);
        expect(heard).to.deep.equal([]);
        listen();
        gap.begin(home.time.nowMs);
        await home.pass(300);
        gap.begin(home.time.nowMs);
        await home.pass(200);
        gap.end();
        gap.end();
        expect(heard.map(([event]) => event)).to.deep.equal(["start", "over"]);
        expect(heard[0]?.[1]).to.deep.include({ ...server, subscriptions: 1 });
        expect(heard[1]?.[1].gapMs).to.be.closeTo(500, 0.01);
        gap.begin(home.time.nowMs);
        gap.end(new Error("closed"));
        expect(heard.slice(2).map(([event, { error }]) => `${event} ${error?.message}`)).to.deep.equal([
          "start undefined",
          "error closed",
          "over closed",
        ]);
      } finally {
        channel.unsubscribe(handlers);
      }
    }));

  it("is not told when the client has ended instead", () =>
    live(async () => {
      listen();
      gap.begin(home.time.nowMs);
      gap.end(new ConnectionClosedError());
      gap.end();
      expect(gaps).to.deep.equal([]);
    }));

  it("reports a name that the server refuses now", () =>
    live(async () => {
      const told: unknown[] = [];
      const dispatched: Command[] = [];
      gap = gapFor({ onGap() {}, onNameRefused: (kind, name) => void told.push([kind, String(name)]) });
      listen();
      const connection = { dispatch: (command: Command) => void dispatched.push(command) };
      gap.restore(connection as unknown as Connection, ({ message }) => void told.push(message));
      dispatched[0]?.fail(new home.modules.ReplyError("NOPERM no channel"));
      expect(told).to.deep.equal(["NOPERM no channel", [SubscriptionKind.Channel, "news"]]);
    }));
});
