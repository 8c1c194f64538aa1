/** The program on Cloudflare Workers: the reply to any request has the results. */

import Redis from "sluice";
import { tryAreas } from "./program.mjs";

export default {
  async fetch(_request, env) {
    const surroundings = JSON.parse(env.SURROUNDINGS);
    return Response.json(await tryAreas({ Redis, Cluster: Redis.Cluster, ...surroundings }));
  },
};
