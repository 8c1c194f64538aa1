/** The program on Cloudflare Workers: the reply to a request has the results. Its path is the id of the process. */

import Redis from "sluice";
import { tryAreas } from "./program.mjs";

export default {
  async fetch(request, env) {
    const surroundings = JSON.parse(env.SURROUNDINGS);
    surroundings.freezer.pid = new URL(request.url).pathname.slice(1);
    return Response.json(await tryAreas({ Redis, Cluster: Redis.Cluster, ...surroundings }));
  },
};
