// needs: tls
// TLS with a private certificate authority and a client certificate. Set REDIS_URL (rediss://...), and the paths of the
// files in TLS_CA, TLS_CERT and TLS_KEY.
const { readFileSync } = require("node:fs");
const Redis = require("sluice");

async function main() {
  const { REDIS_URL, TLS_CA, TLS_CERT, TLS_KEY } = process.env;
  const tls = { ca: readFileSync(TLS_CA), cert: readFileSync(TLS_CERT), key: readFileSync(TLS_KEY) };

  const redis = new Redis(REDIS_URL, { tls }); // rediss://...
  console.log(await redis.ping()); // PONG
  console.log(redis.stream.getProtocol()); // TLSv1.3
  await redis.quit();

  // Without the authority, Node does not trust the certificate. The client emits the reason and keeps retrying.
  const stranger = new Redis(REDIS_URL, { tls: { cert: tls.cert, key: tls.key } });
  const [error] = await new Promise((resolve) => stranger.once("error", (...args) => resolve(args)));
  console.log(error.code);
  stranger.disconnect();
}

main();
