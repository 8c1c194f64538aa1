// Short-lived credentials of a cloud: the client requests new ones before they expire, and logs in again on the open
// connection.

const Redis = require("sluice");
const { gcpIam } = require("sluice/credentials");

const asked = [];

// Replaces an identity service. On Google Cloud, use `auth.getAccessToken()` of google-auth-library.
async function getAccessToken() {
  asked.push(new Date());
  return { token: process.env.REDIS_PASSWORD ?? "secret", expiresAt: Date.now() + 1_000 };
}

async function main() {
  const admin = new Redis(process.env.REDIS_URL);
  await admin.acl("SETUSER", "example", "on", ">secret", "~*", "+@all");

  const tokens = gcpIam(getAccessToken);
  const redis = new Redis(process.env.REDIS_URL, {
    credentials: async (request) => ({ ...(await tokens(request)), username: "example" }),
    maintenance: "auto", // the default: on for hosts of Redis Cloud and Azure Managed Redis
  });
  redis.on("maintenance", ({ state, notice }) => console.log("maintenance:", state, notice?.kind));
  console.log("user:", await redis.acl("WHOAMI"));

  await new Promise((resolve) => setTimeout(resolve, 1_500));
  console.log("user after a renewal:", await redis.acl("WHOAMI"));
  console.log("the service was asked", asked.length > 1 ? "more than once" : "once");

  await redis.quit();
  await admin.acl("DELUSER", "example");
  await admin.quit();
}

main();
