/**
 * A rolling upgrade as it is done by hand: every shard hands its office over with CLUSTER
 * FAILOVER, twice, under sharded and classic subscriptions, pipelines, automatic pipelines,
 * transactions and single writers. The books are exact: no message is missing of which nobody was
 * told, no acknowledged write is lost, nothing hangs. Once on each kind of server, in the long
 * run twenty times.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import { ServerKind } from "../../scripts/servers/find-server";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { ClusterLoad, type LoadReport } from "../support/cluster-load";
import { serverKinds } from "../support/shared-servers";
import { type ChannelReport, MessageBooks } from "./message-books";

const LONG = process.env.SLUICE_LONG === "1";
const ROUNDS = LONG ? 20 : 1;
const PASSES = 2;
const ROUND_TIMEOUT_MS = 120_000;
const BETWEEN_FAILOVERS_MS = 200;
const SHARD_CHANNELS = Array.from({ length: 6 }, (_, i) => `orders:${i}`);
const CLASSIC_CHANNELS = ["news", "weather"];
const SLOTS = SHARD_CHANNELS.map((channel) => calculateSlot(channel));

for (const kind of serverKinds().filter((one) => one !== ServerKind.Redis8)) {
  describe(`cluster: a rolling upgrade, ${kind}`, () => {
    const fixture = new ClusterFixture(kind);
    fixture.install();

    beforeEach(async function () {
      this.timeout(ROUND_TIMEOUT_MS);
      await fixture.cluster.untilHealthy();
      await fixture.flush();
    });

    for (let round = 1; round <= ROUNDS; round++) {
      it(`loses nothing (${round} of ${ROUNDS})`, async () => {
        const { books, load } = await begin(fixture);
        let failovers = 0;
        for (let pass = 0; pass < PASSES; pass++) {
          for (const master of await fixture.cluster.masters()) {
            await books.during(() => fixture.cluster.failover(master));
            failovers++;
            await sleep(BETWEEN_FAILOVERS_MS);
          }
        }
        await load.untilAllAnswered();
        const messages = await books.finish();
        const writes = await load.finish();
        tell(failovers, messages, writes);
        expectMessagesAccountedFor(messages);
        expectWritesExact(writes);
      }).timeout(ROUND_TIMEOUT_MS);
    }
  });
}

async function begin(fixture: ClusterFixture): Promise<{ books: MessageBooks; load: ClusterLoad }> {
  const subscriber = fixture.connect({ shardedSubscribers: true });
  const publisher = fixture.connect({ retryPolicy: "at-most-once" });
  const plain = fixture.connect();
  const auto = fixture.connect({ enableAutoPipelining: true });
  await Promise.all([subscriber, publisher, plain, auto].map(untilClusterReady));
  await expectChannelsOfAllShards(fixture);
  const books = new MessageBooks(publisher, subscriber, {
    sharded: SHARD_CHANNELS,
    classic: CLASSIC_CHANNELS,
  });
  const load = new ClusterLoad(plain, auto);
  await books.start();
  load.start();
  await sleep(500);
  load.markHarm();
  return { books, load };
}

async function expectChannelsOfAllShards({ cluster }: ClusterFixture): Promise<void> {
  const owners = await Promise.all(SLOTS.map((slot) => cluster.ownerOf(slot)));
  expect(new Set(owners.map(({ port }) => port)).size, "shards that have channels").to.equal(3);
}

function expectMessagesAccountedFor(reports: readonly ChannelReport[]): void {
  for (const { channel, untold, twice, outOfOrder, published } of reports) {
    expect({ untold, twice, outOfOrder }, channel).to.deep.equal({ untold: 0, twice: 0, outOfOrder: 0 });
    expect(published, channel).to.be.greaterThan(10);
  }
}

function expectWritesExact(report: LoadReport): void {
  expect([...new Set(report.refusals)].slice(0, 5), "refused").to.deep.equal([]);
  expect(report.answeredAgain, "answered commands sent again").to.equal(0);
  expect(report.lost, "acknowledged increments missing").to.equal(0);
  expect(report.surplus, "increments too many").to.equal(0);
  expect(report.torn, "transactions run in part").to.equal(0);
  expect(report.acknowledged).to.be.greaterThan(1000);
}

function tell(failovers: number, messages: readonly ChannelReport[], writes: LoadReport): void {
  const total = (name: Exclude<keyof ChannelReport, "channel">): number =>
    messages.reduce((sum, report) => sum + report[name], 0);
  const { acknowledged, resent, lost, recoveryMs } = writes;
  console.log(
    `      ${failovers} failovers; ${acknowledged} writes acknowledged, ${resent} sent again, ${lost} lost, ` +
      `longest wait ${recoveryMs} ms; ${total("published")} messages, ${total("missed")} missed ` +
      `(${total("toldByGap")} in ${total("gaps")} gaps, ${total("refused")} refused to the publisher, ` +
      `${total("takenByNobody")} answered 0, ${total("untold")} untold), ${total("twice")} twice, ` +
      `${total("outOfOrder")} out of order; ${writes.refusals.length} refused, ${writes.answeredAgain} answered ` +
      `and sent again, ${writes.surplus} too many, ${writes.torn} torn`,
  );
}
