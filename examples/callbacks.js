// Node-style callbacks: the last argument of any command, on clients and on pipelines.
const Redis = require("sluice");

const redis = new Redis(process.env.REDIS_URL);

redis.set("greeting", "hello", "EX", 60, (error) => {
  if (error) throw error;
  redis.get("greeting", (error, value) => {
    console.log("get:", error, value);
    inAPipeline();
  });
});

function inAPipeline() {
  redis
    .pipeline()
    .append("greeting", ", world", (error, length) => console.log("append:", error, length))
    .lpush("greeting", "x", (error) => console.log("lpush:", error.message))
    .exec((error, rows) => {
      console.log("exec:", error, rows.length);
      inATransaction();
    });
}

function inATransaction() {
  // The callback of each command receives QUEUED. exec() delivers the replies.
  redis
    .multi()
    .get("greeting", (error, reply) => console.log("queued:", error, reply))
    .exec((error, rows) => {
      console.log("transaction:", error, rows);
      redis.del("greeting", Redis.print);
      redis.quit(Redis.print);
    });
}
