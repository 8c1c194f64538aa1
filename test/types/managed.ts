/** The types of logins, planned moves, replicas and several databases. */

import Redis, {
  Cluster,
  type CredentialsProvider,
  type FailoverReport,
  type FailoverSettings,
  type MaintenanceReport,
} from "sluice";
import { awsIam, entra, gcpIam } from "sluice/credentials";
import { same } from "./same";

export function logins(): CredentialsProvider[] {
  const from = async () => ({ accessKeyId: "a", secretAccessKey: "b", expiration: new Date() });
  // @ts-expect-error no such service
  awsIam({ service: "s3", cluster: "c", user: "u", from });
  // @ts-expect-error the source of the keys is required
  awsIam({ service: "memorydb", cluster: "c", user: "u" });
  return [
    awsIam({
      service: "elasticache",
      cluster: "c",
      user: "u",
      region: "eu-central-1",
      serverless: true,
      from,
    }),
    entra({ getToken: async () => ({ token: "t", expiresOnTimestamp: 0 }) }, { scope: "s" }),
    gcpIam(async () => ({ token: "t", expiresAt: Date.now() })),
    async ({ host, port, tls, reason }) => {
      same<typeof reason, "connect" | "renewal" | "refused">();
      same<[typeof host, typeof port, typeof tls], [string | undefined, number | undefined, boolean]>();
      return { username: "u", password: "p", expiresAt: new Date() };
    },
  ];
}

export function plannedMoves(): void {
  const redis = new Redis({ maintenance: "on" });
  redis.on("maintenance", (report) => {
    same<typeof report, MaintenanceReport>();
    same<typeof report.state, "notice" | "moved" | "failed" | "over">();
  });
  new Cluster(["a"], { redisOptions: { maintenance: false } }).on("maintenance", (report, node) => {
    same<typeof report, MaintenanceReport>();
    same<typeof node, string | undefined>();
  });
  // @ts-expect-error no such value
  new Redis({ maintenance: "off" });
}

export async function replicas(): Promise<void> {
  const redis = new Redis({
    replicas: ["reader.example.org", { host: "10.0.0.2", port: 6379 }],
    scaleReads: "nearest",
    readYourWrites: 500,
    availabilityZone: "a",
  });
  new Redis({ replicas: true, scaleReads: "primary" });
  const value = await redis.with({ readFrom: "replica" }).get("key");
  same<typeof value, string | null>();
  // @ts-expect-error no such server
  redis.with({ readFrom: "nearest" });
  // @ts-expect-error no such choice
  new Redis({ scaleReads: "slave" });
}

export function severalDatabases(settings: FailoverSettings): void {
  const redis = new Redis.Failover(["redis://a", { host: "b", weight: 2, tls: {} }], {
    probe: { intervalMs: 100, check: (client) => client.call("PING") },
    failback: false,
  });
  redis.on("failover", (report) => {
    same<typeof report, FailoverReport>();
    same<typeof report.error extends Error | null ? true : false, true>();
  });
  new Redis({ failover: settings }).stats().failover?.active.toUpperCase();
  // @ts-expect-error the weight is a number
  new Redis.Failover([{ host: "b", weight: "2" }]);
}
