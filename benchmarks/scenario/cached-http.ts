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
    "Fastify with four GETs for each request. Of ten GETs, nine are in the client's cache and one reads a new key, so 0.4 GETs of each request reach the server. node-redis uses its `clientSideCache`. ioredis has no cache and sends all four. Autocannon has 100 connections on the server's CPU. The floor is the same service, which answers from its own memory.",
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
