/** A service that reads nearly everything from the cache of its client, beside the same service without Redis. */

import { measureCachedHttp } from "../applications/http-rows";
import { installPackages, versionsOfPackages } from "../applications/packages";
import type { Row, Scenario } from "../support/scenario";
import { ABOVE_FLOOR } from "./applications";

export const cachedHttp: Scenario<Row> = {
  id: "cached-http",
  rounds: 2,
  title: "A service with a cache",
  about:
    "Fastify, four GETs a request, of ten of which nine are in the client's cache and one is of a key that nobody has asked for before: 0.4 of them a request go to the server. node-redis has its `clientSideCache`; ioredis has none and asks for all four. Autocannon with 100 connections on the server's CPU; the floor is the same service answering from its own memory.",
  columns: ABOVE_FLOOR,
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
