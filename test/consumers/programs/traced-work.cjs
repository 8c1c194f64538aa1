/** The commands that each vendor's tracer is shown, in the order in which they are issued. */

exports.COMMANDS = [
  ...["set", "get"],
  ...["get", "set"],
  ...["multi", "get", "incr", "exec"],
  "incr",
  ...["get", "get"],
  ...["hset", "hgetall", "mget"],
];

exports.work = async (redis) => {
  await redis.set("text", "geheim");
  await redis.get("text");
  await redis.pipeline().get("text").set("b", "geheim").exec();
  await redis.multi().get("text").incr("n").exec();
  await redis.incr("text").catch(() => {});
  await Promise.all([redis.get("a"), redis.get("b")]);
  await redis.hset("hash", "field", "geheim");
  await redis.hgetall("hash");
  await redis.mget("a", "b");
};

/** Place of the command in the list that fails. */
exports.FAILED = 8;
exports.address = { host: process.env.REDIS_HOST, port: Number(process.env.REDIS_PORT) };
