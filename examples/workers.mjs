// A Cloudflare Worker. A request may use only its own sockets, so each request has one client.
//
// wrangler.toml: compatibility_flags = ["nodejs_compat"], and REDIS_URL as a secret.
//
// needs: workers
import { Redis } from "sluice";
import "sluice/with/timeouts"; // for commandTimeout, in a bundle

const clients = new WeakMap();

/** The client of the request with this `context`. */
function clientOf(env, context) {
  const present = clients.get(context);
  if (present !== undefined) return present;
  const client = new Redis(env.REDIS_URL, { commandTimeout: 2_000, maxRetriesPerRequest: 1 });
  client.on("error", (error) => console.error(error.message));
  clients.set(context, client);
  return client;
}

async function countVisit(page, env, context) {
  return clientOf(env, context).incr(`visits:${page}`);
}

export default {
  async fetch(request, env, context) {
    const { pathname } = new URL(request.url);
    const [visits, title] = await Promise.all([
      countVisit(pathname, env, context),
      clientOf(env, context).get(`title:${pathname}`),
    ]);
    // The connection closes after the response.
    context.waitUntil(clientOf(env, context).quit());
    return Response.json({ pathname, title, visits });
  },
};
