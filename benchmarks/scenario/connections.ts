/**
 * New and lost connections: the first reply of a client, a connection for each request, a reset connection, and a
 * process that was stopped while its connection died.
 */

import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import type { SideName } from "../sides/all-sides";
import { type FreshClient, freshClient } from "../sides/fresh-clients";
import { type Address, requireTls } from "../sides/side";
import { BareClient, serverCpuSeconds } from "../support/bare-client";
import { startDelayProxy, startFailingProxy } from "../support/child-process";
import { type Figures, Meter } from "../support/meter";
import { CPU, type Row, type SampleContext, type Scenario, SERVER_CPU } from "../support/scenario";

interface ConnectionRow extends Row {
  readonly measureRow: (context: SampleContext) => Promise<Figures>;
}

const SIDES: readonly SideName[] = ["sluice", "before", "ioredis", "iovalkey", "redis-nt", "glide"];
/** Long beside the work of client and server, so that it counts round trips. */
const ROUND_TRIP_MS = 20;
const FIRST_REPLIES = 15;
/** Requests before the measured ones: the compiler is done with most of the client. */
const WARM_REQUESTS = 300;
/** Longer than the life after which a lost connection counts as healthy. */
const HEALTHY_MS = 3500;
const RESETS = 5;
/** Longer than the idle time after which the client checks its connection. */
const STOPPED_MS = 11_000;
/** Some clients do not notice a dead connection at all. */
const LONGEST_WAIT_MS = 20_000;
const KEY = "connections";

export const connections: Scenario<ConnectionRow> = {
  id: "connections",
  rounds: 7,
  title: "New and lost connections",
  about:
    "**First reply:** the program issues a GET as soon as the client exists. The round trip is 20 ms, and the proxy accepts the connection immediately. node-redis sends the GET before the server has accepted login and database. **A connection for each request:** the program connects, sends a GET and disconnects, one request after the other, over TCP and TLS. **Reset:** the connection is reset after 3.5 s, and the time counts to the next reply. **Stopped:** the process stops for 11 s, and the network drops its connection. The time counts from the first command afterwards, and 20,000 ms means that no reply arrived.",
  columns: [
    { figure: "roundTrips", title: "round trips", digits: 2, pick: "median" },
    { figure: "replyMs", title: "ms to the reply", digits: 1, pick: "median" },
    { ...CPU, title: "CPU µs/request", digits: 0 },
    { ...SERVER_CPU, title: "server CPU µs/request", digits: 0 },
  ],
  rows: [
    { id: "first-reply", title: "first reply of a client", sides: SIDES, measureRow: measureFirstReply },
    {
      id: "request-connection",
      title: "a connection for each request",
      sides: SIDES,
      measureRow: (context) => measureRequests(context, false),
    },
    {
      id: "request-connection-tls",
      title: "the same, TLS",
      sides: SIDES,
      measureRow: (context) => measureRequests(context, true),
    },
    {
      id: "reset",
      title: "a healthy connection is reset",
      sides: SIDES,
      isLong: true,
      measureRow: measureReset,
    },
    { id: "thaw", title: "the process was stopped", sides: SIDES, isLong: true, measureRow: measureThaw },
  ],
  measure: (row, context) => row.measureRow(context),
};

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] as number;
}

const addressOf = ({ target }: SampleContext): Address => target.nodes[0] as Address;

async function measureFirstReply(context: SampleContext): Promise<Figures> {
  const proxy = await startDelayProxy(addressOf(context), ROUND_TRIP_MS, context.serverCpu);
  const times: number[] = [];
  for (let index = 0; index < FIRST_REPLIES; index++) {
    const startMs = performance.now();
    const client = freshClient(context.sideName, proxy.address);
    await client.get(KEY);
    times.push(performance.now() - startMs);
    await client.leave();
  }
  proxy.stop();
  const replyMs = median(times);
  return { replyMs, roundTrips: replyMs / ROUND_TRIP_MS };
}

async function measureRequests(context: SampleContext, usesTls: boolean): Promise<Figures> {
  const tls = usesTls ? requireTls(context.target) : undefined;
  const request = async (): Promise<void> => {
    const client = freshClient(context.sideName, addressOf(context), tls);
    await client.get(KEY);
    await client.leave();
  };
  for (let index = 0; index < WARM_REQUESTS; index++) await request();
  const server = await BareClient.open(addressOf(context));
  const serverBefore = await serverCpuSeconds(server);
  const meter = new Meter();
  meter.start();
  const endMs = performance.now() + context.budget.measureMs;
  let requests = 0;
  while (performance.now() < endMs) {
    await request();
    requests++;
  }
  const figures = await meter.stop(requests);
  const serverCpuMicros = (((await serverCpuSeconds(server)) - serverBefore) / requests) * 1e6;
  server.close();
  return { ...figures, serverCpuMicros };
}

async function measureReset(context: SampleContext): Promise<Figures> {
  const proxy = await startFailingProxy(addressOf(context), context.serverCpu);
  const client = freshClient(context.sideName, proxy.address);
  await client.get(KEY);
  const times: number[] = [];
  for (let index = 0; index < RESETS; index++) {
    await sleep(HEALTHY_MS);
    const startMs = performance.now();
    proxy.tell("reset");
    // It arrives before the next command is written, as when a connection is lost between two requests.
    await sleep(1);
    await replyOf(client);
    times.push(performance.now() - startMs);
  }
  await client.leave();
  proxy.stop();
  return { replyMs: median(times) };
}

async function measureThaw(context: SampleContext): Promise<Figures> {
  const proxy = await startFailingProxy(addressOf(context), context.serverCpu);
  const client = freshClient(context.sideName, proxy.address);
  await client.get(KEY);
  proxy.tell("silence");
  await stopProcess();
  const startMs = performance.now();
  const limit = sleep(LONGEST_WAIT_MS, undefined, { ref: false });
  await Promise.race([replyOf(client), limit]);
  const replyMs = Math.min(performance.now() - startMs, LONGEST_WAIT_MS);
  proxy.stop();
  return { replyMs };
}

/** A caller repeats what fails. */
async function replyOf(client: FreshClient): Promise<void> {
  for (;;) {
    try {
      await client.get(KEY);
      return;
    } catch {
      await sleep(1);
    }
  }
}

async function stopProcess(): Promise<void> {
  const seconds = STOPPED_MS / 1000;
  const { pid } = process;
  const stopper = spawn("sh", ["-c", `kill -STOP ${pid}; sleep ${seconds}; kill -CONT ${pid}`]);
  await new Promise((resolve) => stopper.once("exit", resolve));
}
