// An AWS Lambda function. The client is created outside the handler, so a warm instance keeps its connection. Instances
// are frozen between calls, so the client checks an idle connection before it uses it.
import { Redis } from "sluice";
import "sluice/with/timeouts"; // for commandTimeout, in a bundle

const redis = new Redis(process.env.REDIS_URL ?? "redis://localhost:6379", {
  lazyConnect: true, // an instance may start long before its first call
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

// Lambda calls the handler. This example calls it twice. A function never closes its client.
if (process.env.AWS_LAMBDA_FUNCTION_NAME === undefined) {
  await redis.hset("profile:1", { name: "Ada" });
  for (let call = 1; call <= 2; call++) console.log(await handler({ id: 1 }));
  await redis.del("profile:1", "visits:1");
  await redis.quit();
}
