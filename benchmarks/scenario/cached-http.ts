/** A service that reads nearly everything from the cache of its client, beside the same service without Redis. */

import { measureCachedHttp } from "../applications/http-rows";
import { installPackages, versionsOfPackages } from "../applications/packages";
import { OPS, P50, P99, type Row, type Scenario } from "../support/scenario";

export const cachedHttp: Scenario<Row> = {
  id: "cached-http",
  rounds: 2,
  title: "A service with a cache",
  about:
    "Fastify, four GETs a request, of ten of which nine are in the client's cache and one is of a key that nobody has asked for before: 0.4 of them a request go to the server. node-redis has its `clientSideCache`; ioredis has none and asks for all four. Autocannon with 100 connections on the server's CPU; the floor is the same service answering from its own memory.",
  columns: [
    OPS,
    { figure: "cpuMicros", title: "CPU µs each", digits: 1, pick: "least" },
    { figure: "floorMicros", title: "CPU µs without Redis", digits: 1, pick: "least" },
    { figure: "aboveFloorMicros", title: "CPU µs above that", digits: 1, pick: "least" },
    P50,
    P99,
  ],
  rows: [
    {
      id: "app-http-cached",
      title: "Fastify, 4 GET a request, 90 % hits, 100 connections",
      sides: ["sluice", "before", "ioredis", "redis-nt"],
    },
  ],
  before: installPackages,
  versions: versionsOfPackages,
  measure: (_row, context) => measureCachedHttp(context),
};
