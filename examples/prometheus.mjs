// Metrics of a client for Prometheus (`npm install prom-client`). grafana-dashboard.json in the repository is a dashboard
// for them.

import { Counter, Gauge, register } from "prom-client";
import Redis from "sluice";

const redis = new Redis(process.env.REDIS_URL);

/** Name, help text, and value in `stats()`. A record becomes one series for each key. */
const counters = {
  redis_commands_issued_total: ["Commands issued by callers", ({ commands }) => commands.issued],
  redis_commands_failed_total: ["Failed commands by code", ({ commands }) => commands.errors, "code"],
  redis_flushes_total: ["Writes to the socket", ({ flushes }) => flushes.count],
  redis_flushed_commands_total: ["Commands written", ({ flushes }) => flushes.commands],
  redis_read_bytes_total: ["Bytes read", ({ bytesRead }) => bytesRead],
  redis_written_bytes_total: ["Bytes written", ({ bytesWritten }) => bytesWritten],
  redis_stall_seconds_total: ["Time in which the socket accepted no data", ({ stalls }) => stalls.ms / 1000],
  redis_connections_lost_total: ["Connections lost", ({ connections }) => connections.lost],
};
const gauges = {
  redis_queue_commands: ["Waiting commands, by queue", ({ queues }) => pick(queues, /^(?!.*Bytes)/), "queue"],
  redis_queue_bytes: ["Waiting bytes, by queue", ({ queues }) => pick(queues, /Bytes$/), "queue"],
  redis_round_trip_seconds: ["Mean round trip", ({ roundTrip }) => (roundTrip.meanMs ?? 0) / 1000],
  redis_round_trip_p99_seconds: ["99th percentile", ({ roundTrip }) => (roundTrip.p99Ms ?? 0) / 1000],
};

function pick(record, names) {
  return Object.fromEntries(Object.entries(record).filter(([name]) => names.test(name)));
}

function expose(Metric, figures) {
  for (const [name, [help, read, label]] of Object.entries(figures)) {
    new Metric({
      name,
      help,
      labelNames: label ? [label] : [],
      collect() {
        const value = read(redis.stats());
        this.reset();
        const set = Metric === Counter ? this.inc.bind(this) : this.set.bind(this);
        if (label === undefined) set(value);
        else for (const [key, one] of Object.entries(value)) set({ [label]: key }, one);
      },
    });
  }
}
expose(Counter, counters);
expose(Gauge, gauges);

// In a service: app.get("/metrics", async (_request, response) => response.end(await register.metrics()));
await redis.pipeline().set("a", 1).get("a").incr("a").exec();
await redis.lpush("a", 1).catch(() => {});
console.log(await register.metrics());
await redis.quit();
