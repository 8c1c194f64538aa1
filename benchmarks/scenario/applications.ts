/** Workloads of services with published packages: HTTP, sessions, a job queue, a rate limiter, streams. */

import { measureHttp, measureSessions } from "../applications/http-rows";
import { type LibraryWork, measureLibrary } from "../applications/library-rows";
import { installPackages, versionsOfPackages } from "../applications/packages";
import { measureQueue, type QueueWork } from "../applications/queue-rows";
import type { SideName } from "../sides/all-sides";
import type { Figures } from "../support/meter";
import { type Column, OPS, P50, P99, type Row, type SampleContext, type Scenario } from "../support/scenario";

interface ApplicationRow extends Row {
  run(context: SampleContext): Promise<Figures>;
}

const IOREDIS_LIKE: readonly SideName[] = ["sluice", "before", "ioredis", "iovalkey"];
const SIDES: readonly SideName[] = [...IOREDIS_LIKE, "redis-nt"];

function http(connections: number): ApplicationRow {
  return {
    id: `app-http-${connections}`,
    title: `Fastify, 3 GET + 1 SETEX a request, ${connections} connections`,
    sides: SIDES,
    run: (context) => measureHttp(connections, context),
  };
}

function queue(id: string, title: string, work: QueueWork, concurrency: number): ApplicationRow {
  return {
    id: `app-bullmq-${id}`,
    title: `BullMQ, ${title}`,
    sides: SIDES,
    run: (context) => measureQueue(work, concurrency, context),
  };
}

function library(work: LibraryWork, title: string, sides: readonly SideName[] = SIDES): ApplicationRow {
  return { id: `app-${work}`, title, sides, run: (context) => measureLibrary(work, context) };
}

/** Of a service, beside the same service without Redis. */
export const ABOVE_FLOOR: readonly Column[] = [
  OPS,
  { figure: "cpuMicros", title: "CPU µs each", digits: 1, pick: "least" },
  { figure: "floorMicros", title: "CPU µs without Redis", digits: 1, pick: "least" },
  { figure: "aboveFloorMicros", title: "CPU µs above that", digits: 1, pick: "least" },
  P50,
  P99,
];

export const applications: Scenario<ApplicationRow> = {
  id: "applications",
  rounds: 2,
  title: "What services run",
  about:
    "Published packages, each with every client. HTTP: autocannon runs on the server's CPU, and the CPU figure is that of the service for each request. The floor is the same service, which answers from its own memory. BullMQ: jobs a second, with its own adapter for node-redis. The others: calls a second from 50 callers.",
  columns: ABOVE_FLOOR,
  rows: [
    http(100),
    http(200),
    {
      id: "app-sessions",
      title: "Express with express-session and connect-redis, 100 connections",
      sides: SIDES,
      run: (context) => measureSessions(100, context),
    },
    queue("add", "50 adders", "add", 50),
    queue("add-bulk", "addBulk of 100", "add-bulk", 1),
    queue("process-1", "process, concurrency 1", "process", 1),
    queue("process-50", "process, concurrency 50", "process", 50),
    library("rate-limiter", "rate-limiter-flexible, consume"),
    library("keyv", "keyv, 3 get to 1 set", IOREDIS_LIKE),
    library("xadd", "XADD with MAXLEN"),
    library("xreadgroup", "XREADGROUP of 100 + XACK beside XADD"),
    library("xrange", "XRANGE of 100, 5 callers"),
  ],
  before: installPackages,
  versions: versionsOfPackages,
  measure: (row, context) => row.run(context),
};
