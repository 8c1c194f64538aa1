/** Which of the subscribers of a cluster a command goes to, where they connect, and what the client hears of them. */

import { expect } from "chai";
import {
  ClusterSubscriptions,
  type SubscriptionsDeps,
} from "../../../src/client/cluster/cluster-subscriptions";
import { type ClusterOptions, resolveClusterOptions } from "../../../src/client/options/cluster-options";
import type { LinkSupervisor } from "../../../src/client/redis-events";
import { ClusterNode } from "../../../src/cluster/cluster-node";
import { SlotMap } from "../../../src/cluster/slot-map";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { SLOT_COUNT, slotOfKey } from "../../../src/command/slot";
import { Subscriptions } from "../../../src/connection/subscriptions";
import { ReplyError } from "../../../src/errors";
import { DecodedMessage, type Message, MessagePart } from "../../../src/protocol/message";
import { Ending } from "../../support/ending";
import { LONE_SLOTS } from "../../support/lone-slots";

const SHAPE = { protocol: 2, replyMapping: "legacy" } as const;

/** A connection that the client has opened for subscriptions. */
interface Opened {
  readonly kind: string;
  readonly port: number;
  readonly supervisor: LinkSupervisor;
  readonly given: Command[];
  status: string;
}

describe("ClusterSubscriptions", () => {
  let nodes: ClusterNode[];
  let slots: SlotMap;
  let opened: Opened[];
  let told: string[];
  let made: Command[];
  let isActive: boolean;
  let subscriptions: ClusterSubscriptions;

  afterEach(() => {
    subscriptions.stop(true);
    for (const one of made) one.fail(new Error("the test is over"));
  });

  function make(options: ClusterOptions, ports = [1, 2]): void {
    [opened, told, made, isActive] = [[], [], [], true];
    nodes = ports.map((port) => new ClusterNode({ host: "h", port }));
    slots = new SlotMap(null, LONE_SLOTS);
    const [first, second = first] = nodes;
    if (first !== undefined && second !== undefined)
      for (let slot = 0; slot < SLOT_COUNT; slot++) slots.move(slot, slot <= 8191 ? first : second);
    slots.learn = ({ kind, slot, target }) => {
      if (kind === "moved" && target !== null) told.push(`${slot} moved to ${target.host}:${target.port}`);
    };
    const deps = {
      slots,
      pool: { list: () => nodes },
      views: {
        makeSubscriber: (kind: string, { port }: { port: number }, supervisor: LinkSupervisor) => {
          const one: Opened = { kind, port, supervisor, given: [], status: "connecting" };
          opened.push(one);
          const link = {
            subscriptions: new Subscriptions(),
            options: {},
            connection: null,
            connect: () => Promise.resolve(),
            disconnect: () => void (one.status = "end"),
            get status() {
              return one.status;
            },
          };
          return { link, dispatch: (command: Command) => void one.given.push(command), dispatchBatch() {} };
        },
      },
      redirector: {
        get isActive() {
          return isActive;
        },
        options: resolveClusterOptions(options),
      },
      refresher: {
        request: () => void told.push("stale"),
        askAtOnce: ({ key }: ClusterNode) => void told.push(`${key} has lost slots`),
      },
      owner: {
        onNodeError: ({ message }: Error, key: string) => void told.push(`error of ${key}: ${message}`),
        onMessage: (message: Message) => void told.push(`message ${message.text(MessagePart.Payload)}`),
        emit: (event: string, ...args: unknown[]) =>
          void told.push(
            [event, ...args.map((one) => (one instanceof Error ? one.message : String(one)))].join(" "),
          ),
      },
    };
    subscriptions = new ClusterSubscriptions(options, deps as unknown as SubscriptionsDeps);
  }

  function issue(name: string, ...args: string[]): Command {
    const command = new Command(specOf(name), args, false, new Ending());
    made.push(command);
    subscriptions.dispatch(command);
    return command;
  }

  const errorOf = ({ completion }: Command): { code?: string } & Error =>
    (completion as Ending).error as { code?: string } & Error;

  const kinds = (): string[] => opened.map(({ kind, port }) => `${kind} ${port}`);

  /** Names whose slots belong to the first and to the second node. */
  const names = [8191, 16_383].map((most) => {
    for (let i = 0; ; i++) {
      const slot = slotOfKey(`c${i}`);
      if (slot <= most && slot > most - 8192) return `c${i}`;
    }
  }) as [string, string];

  it("sends everything over one connection without sharded subscribers", () => {
    make({}, [1]);
    subscriptions.start();
    const all = [
      issue("subscribe", "a"),
      issue("psubscribe", "a*"),
      issue("ssubscribe", names[1]),
      issue("sunsubscribe"),
    ];
    expect(kinds()).to.deep.equal(["subscriber 1"]);
    expect(opened[0]?.given).to.deep.equal(all);
    subscriptions.onTopology();
    expect(opened.length).to.equal(1);
  });

  it("sends shard channels to who serves their slots, and asks a server what is missing where there is none", () => {
    make({ shardedSubscribers: true });
    subscriptions.start();
    issue("ssubscribe", names[0]);
    issue("ssubscribe", names[1]);
    expect(kinds()).to.deep.equal(["ssubscriber 1", "ssubscriber 2"]);
    const [nothing, classic] = [issue("ssubscribe"), issue("subscribe", "a")];
    expect(opened.at(-1)?.kind).to.equal("subscriber");
    expect(opened.at(-1)?.given).to.deep.equal([nothing, classic]);
    issue("sunsubscribe");
    expect(opened.length).to.equal(3);
    expect(opened[2]?.given.length, "leaving all shard channels is no affair of the classic one").to.equal(2);
  });

  it("opens shard connections before anybody subscribes where nodes are dialled at once, and only there", () => {
    for (const lazyConnect of [false, true, undefined]) {
      make({
        shardedSubscribers: true,
        ...(lazyConnect === undefined ? {} : { redisOptions: { lazyConnect } }),
      });
      subscriptions.start();
      expect(kinds(), String(lazyConnect)).to.deep.equal(
        lazyConnect === false ? ["ssubscriber 1", "ssubscriber 2"] : [],
      );
      if (lazyConnect !== false) {
        subscriptions.stop(true);
        continue;
      }
      nodes.push(new ClusterNode({ host: "h", port: 3 }));
      slots.move(5, nodes[2] as ClusterNode);
      subscriptions.onTopology();
      expect(kinds().at(-1)).to.equal("ssubscriber 3");
      subscriptions.stop(true);
    }
    make({ redisOptions: { lazyConnect: false } });
    subscriptions.start();
    expect(kinds()).to.deep.equal([]);
  });

  it("tells what its connections hear, as long as they count", () => {
    make({}, [1]);
    subscriptions.start();
    issue("subscribe", "a");
    const { supervisor } = opened[0] as Opened;
    const message = new DecodedMessage("message", [Buffer.alloc(0), Buffer.from("a"), Buffer.from("1")]);
    supervisor.onMessage?.(message);
    expect(told).to.deep.equal(["message 1"]);
    subscriptions.stop(false);
    supervisor.onMessage?.(message);
    expect(told.length).to.equal(1);
  });

  it("tells errors of its connections as those of their nodes; sharded ones under a second name", () => {
    make({ shardedSubscribers: true });
    subscriptions.start();
    issue("ssubscribe", names[0]);
    issue("subscribe", "a");
    for (const { supervisor } of opened) {
      supervisor.onNamedError?.("error", new Error("refused"));
      supervisor.onNamedError?.("warning" as never, new Error("not to be told"));
    }
    const keys = opened.map(({ port }) => `h:${port}`);
    expect(told).to.deep.equal([
      "subscribersReady",
      "+subscriber",
      `error of ${keys[0]}: refused`,
      `nodeError refused ${keys[0]}`,
      `error of ${keys[1]}: refused`,
    ]);
  });

  it("hands over what a connection leaves as long as the client is not being closed", () => {
    make({}, [1]);
    subscriptions.start();
    const command = issue("subscribe", "a");
    const { takeover } = (opened[0] as Opened).supervisor;
    expect([takeover?.takesOver(command), takeover?.madeWhole([command])]).to.deep.equal([true, [command]]);
    isActive = false;
    expect(takeover?.takesOver(command)).to.equal(false);
  });

  it("says where a shard channel is that the only connection cannot have", () => {
    make({}, [1]);
    subscriptions.start();
    const [misplaced, refused] = [issue("ssubscribe", names[1]), issue("ssubscribe", names[0])];
    const { onReplyError } = (opened[0] as Opened).supervisor;
    expect(onReplyError?.(misplaced, new ReplyError(`MOVED ${slotOfKey(names[1])} h:2`))).to.equal(true);
    expect(errorOf(misplaced)).to.have.property("code", "TOO_MANY_REDIRECTIONS");
    expect(onReplyError?.(refused, new ReplyError("NOPERM no"))).to.equal(false);
    expect(refused.isSettled).to.equal(false);
  });

  it("learns from a shard connection who serves a slot", () => {
    make({ shardedSubscribers: true });
    subscriptions.start();
    const slot = slotOfKey(names[0]);
    const command = issue("ssubscribe", names[0]);
    opened[0]?.supervisor.onReplyError?.(command, new ReplyError(`MOVED ${slot} h:2`));
    expect(told.filter((one) => one.includes("moved"))).to.deep.equal([`${slot} moved to h:2`]);
  });

  it("tells of shard connections that open and close, when all is subscribed, and asks for a table when one is lost", () => {
    make({ shardedSubscribers: true });
    subscriptions.start();
    const command = issue("ssubscribe", names[0]);
    const [one] = opened as [Opened];
    one.status = "ready";
    one.supervisor.onStatus?.("ready");
    command.fulfil(1, SHAPE);
    one.status = "end";
    one.supervisor.onStatus?.("end");
    expect(told).to.deep.equal(["subscribersReady", "+subscriber", "-subscriber", "stale"]);
  });

  it("asks a node for the table that has ended a subscription by itself", () => {
    make({ shardedSubscribers: true });
    subscriptions.start();
    issue("ssubscribe", names[0]);
    opened[0]?.supervisor.onShardLost?.(Buffer.from(names[0]));
    expect(told.at(-1)).to.equal("h:1 has lost slots");
  });

  it("follows redirects of shard channels as often as the option says, 16 times by default", () => {
    for (const [options, most] of [
      [{}, 16],
      [{ maxRedirections: 1 }, 1],
    ] as const) {
      make({ shardedSubscribers: true, ...options });
      subscriptions.start();
      const command = issue("ssubscribe", names[0]);
      const moved = new ReplyError(`MOVED ${slotOfKey(names[0])} h:2`);
      for (let times = 0; times < most; times++) opened[0]?.supervisor.onReplyError?.(command, moved);
      expect(command.isSettled).to.equal(false);
      opened[0]?.supervisor.onReplyError?.(command, moved);
      expect(errorOf(command)).to.have.property("code", "TOO_MANY_REDIRECTIONS");
      subscriptions.stop(true);
    }
  });

  it("subscribes at a node that can be reached and speaks, another one than before if there is one", () => {
    const portsOf = (times: number): number[] => {
      const ports = new Set<number>();
      for (let i = 0; i < times; i++) {
        issue("subscribe", "a");
        const one = opened.at(-1) as Opened;
        ports.add(one.port);
        subscriptions.onNodeGone(nodes.find(({ address }) => address.port === one.port) as ClusterNode);
        one.status = "end";
        subscriptions.stop(false);
        subscriptions.start();
      }
      return [...ports].sort();
    };
    make({}, [1, 2, 3]);
    subscriptions.start();
    expect(portsOf(40)).to.deep.equal([1, 2, 3]);
    const ports = opened.map(({ port }) => port);
    expect(
      ports.every((port, i) => i === 0 || port !== ports[i - 1]),
      "another one each time",
    ).to.equal(true);
    (nodes[0] as ClusterNode).isDown = true;
    expect(portsOf(20)).to.deep.equal([2, 3]);
    Object.defineProperty(nodes[1], "isSuspect", { value: true });
    expect(portsOf(6), "the only sound one").to.deep.equal([3]);
    (nodes[2] as ClusterNode).isDown = true;
    expect(portsOf(40), "better than none").to.deep.equal([1, 2, 3]);
  });

  it("closes all its connections when it stops, and that of a node that has left", () => {
    make({ shardedSubscribers: true }, [1]);
    subscriptions.start();
    issue("ssubscribe", names[0]);
    issue("subscribe", "a");
    const [sharded, classic] = opened as [Opened, Opened];
    subscriptions.onNodeGone(nodes[0] as ClusterNode);
    expect([sharded.status, classic.status]).to.deep.equal(["connecting", "end"]);
    subscriptions.stop(false);
    expect(sharded.status).to.equal("end");
  });

  it("refuses what is subscribed where there is no node", () => {
    make({}, []);
    subscriptions.start();
    expect(errorOf(issue("subscribe", "a"))).to.have.property("code", "NO_SUBSCRIBER");
  });
});
