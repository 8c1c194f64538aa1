// An AWS Lambda function. The client is made outside of the handler, so that an instance keeps its connection from call
// to call. The instance is frozen between calls: the client asks an old connection before it trusts it.
import { Redis } from "sluice";

const redis = new Redis(process.env.REDIS_URL ?? "redis://localhost:6379", {
  lazyConnect: true, // an instance may be made long before its first call
  connectTimeout: 2_000,
  commandTimeout: 3_000,
});
redis.on("error", (error) => console.error(error.message));

export async function handler(event) {
  const [visits, user] = await Promise.all([
    redis.incr(`visits:${event.id}`),
    redis.hgetall(`profile:${event.id}`),
  ]);
  return { statusCode: 200, body: JSON.stringify({ user, visits }) };
}

// Lambda calls the handler. Here two calls are made by hand; a function never closes its client.
if (process.env.AWS_LAMBDA_FUNCTION_NAME === undefined) {
  await redis.hset("profile:1", { name: "Ada" });
  for (let call = 1; call <= 2; call++) console.log(await handler({ id: 1 }));
  await redis.del("profile:1", "visits:1");
  await redis.quit();
}
