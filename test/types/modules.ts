/** The types of module commands, on clients, pipelines and by their literal names. */

import type { Cluster, Redis } from "sluice";
import { same } from "./same";

interface User {
  name: string;
}

export async function onClients(redis: Redis, cluster: Cluster, mapped: Redis<"resp3">): Promise<void> {
  const user = await cluster.json.get<User>("user:1", "$.name");
  same<typeof user, User | null>();
  user?.name.toUpperCase();
  const text: string | null = await redis.call("JSON.GET", "user:1", "$");
  const lower: string | null = await redis.call("json.get", "user:1");
  const unknownReply = await redis.call("NO.SUCH", "user:1");
  same<typeof unknownReply, unknown>();
  await redis.call("JSON.GET", "user:1", (error, reply) => [error, reply]);
  await redis.json.set("user:1", "$", { name: text ?? lower }, "NX");
  // @ts-expect-error The condition is NX or XX.
  await redis.json.set("user:1", "$", {}, "NY");
  const { total, documents } = await redis.ft.search(
    "index",
    "*=>[KNN 2 @v $q]",
    "PARAMS",
    2,
    "q",
    new Float32Array(3),
  );
  documents[0]?.fields["name"]?.slice(total);
  const bytes = await redis.ft.searchBuffer("index", "*");
  bytes.documents[0]?.id.readUInt8();
  const added: number = await redis.bf.add("filter", "item");
  const isAdded: boolean = await mapped.bf.add("filter", "item");
  const [sample] = await mapped.ts.range("cpu", "-", "+");
  const value: number | undefined = sample?.[1];
  const texts: [number, string][] = await redis.ts.range("cpu", "-", "+");
  void [added, isAdded, value, texts];
}

export async function onPipelines(redis: Redis): Promise<void> {
  const rows = await redis.pipeline().get("a").json.get<User>("b").topk.list("c").exec();
  if (rows === null) return;
  const [, [error, user], [, list]] = rows;
  if (error === null) user?.name.toUpperCase();
  list.map((item) => item.length);
  redis.json.get<User>("b", (_error, parsed) => parsed?.name);
}
