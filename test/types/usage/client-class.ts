/** The classes themselves: options, constructors, subclasses, custom commands, types derived from them. */

import * as NS from "client-under-test";
import Redis, {
  type Callback,
  type ChainableCommander,
  Command,
  type Pipeline,
  Redis as R2,
  type RedisOptions,
  type RedisStatus,
  type Result,
} from "client-under-test";

// stubs and generics
type Method = keyof Redis;
const method: Method = "get";
void method;
type GetArgs = Parameters<Redis["get"]>;
const ga: GetArgs = ["k"];
void ga;
type SetRet = Awaited<ReturnType<Redis["set"]>>;
const sr: SetRet = "OK";
void sr;
type MgetRet = Awaited<ReturnType<Redis["mget"]>>;
const mr: MgetRet = [null];
void mr;
interface ICache {
  get(k: string): Promise<string | null>;
  set(k: string, v: string): Promise<unknown>;
  del(...k: string[]): Promise<number>;
  quit(): Promise<unknown>;
}
const ic: ICache = new Redis();
void ic;
const partial: Pick<Redis, "get" | "set" | "del" | "expire"> = new Redis();
void partial;
const st: RedisStatus = new Redis().status;
void st;
export function withRedis<T>(fn: (r: Redis) => Promise<T>): Promise<T> {
  const r = new Redis(process.env.REDIS_URL!);
  return fn(r).finally(() => r.disconnect());
}
withRedis((r) => r.get("x"));
withRedis(async (r) => {
  await Promise.all([r.get("a"), r.set("b", 1)]);
});
export const o1: RedisOptions = {
  host: "x",
  port: 1,
  password: "p",
  db: 1,
  tls: {},
  keyPrefix: "x:",
  sentinels: [{ host: "a", port: 1 }],
  name: "m",
  role: "slave",
  family: 4,
  connectTimeout: 5,
  commandTimeout: 5,
  enableOfflineQueue: false,
  showFriendlyErrorStack: true,
  enableAutoPipelining: true,
  autoPipeliningIgnoredCommands: ["ping"],
  maxRetriesPerRequest: 3,
  lazyConnect: true,
  keepAlive: 1,
  noDelay: true,
  connectionName: "n",
  username: "u",
  readOnly: false,
  stringNumbers: true,
  autoResubscribe: true,
  autoResendUnfulfilledCommands: true,
  retryStrategy: () => null,
  reconnectOnError: () => 2,
  scripts: { x: { lua: "return 1", numberOfKeys: 1, readOnly: true } },
  sentinelRetryStrategy: (t) => t,
  natMap: { a: { host: "b", port: 1 } },
  path: undefined,
  socketTimeout: 1,
};
const r1 = new Redis(o1),
  rr2 = new Redis(6379, "h", o1),
  rr3 = new Redis("redis://x", o1),
  rr4 = new Redis(6379, o1),
  rr5 = new R2(),
  rr6 = new NS.Redis(),
  rr7 = new NS.default();
void [rr2, rr3, rr4, rr5, rr6, rr7];
r1.defineCommand("x", { lua: "return 1", numberOfKeys: 0 });
(r1 as any).x(1);
r1.addBuiltinCommand("foo");
r1.getBuiltinCommands().includes("get");
r1.options.keyPrefix;
r1.options.host;
r1.mode === "normal";
r1.isCluster;
r1.duplicate({ db: 3 }).get("x");
r1.monitor().then((m) => m.on("monitor", (time, args) => {}));
r1.monitor((e, m) => m?.disconnect());
class Wrapped extends Redis {
  override sendCommand(command: Command, stream?: any) {
    return super.sendCommand(command, stream) as Promise<unknown>;
  }
}
void Wrapped;
r1.sendCommand(new Command("get", ["x"], { replyEncoding: "utf8" }, (e, r) => {}));
r1.hscanStream("k", { match: "a", count: 5 });
r1.sscanStream("k");
r1.zscanStream("k");
r1.scanBufferStream({ type: "string" });
r1.autoPipelineQueueSize;
r1.commandQueue.length;
r1.stream;
r1.scriptsSet;
r1.end();
Redis.Command.setReplyTransformer("hgetall", (r) => r);
Redis.Command.setArgumentTransformer("set", (a) => a);
Redis.createClient();
const resp3 = new Redis({ replyMapping: "resp3" });
resp3.zscore("a", "b").then((n) => n! + 1);
resp3.config("GET", "x").then((c) => c.x);
resp3.pipeline().zscore("a", "b").exec();
class Sub extends Redis {
  constructor() {
    super({ port: 1 });
  }
  async foo() {
    return this.get("x");
  }
}
new Sub().foo();
const dyn = async (r: Redis, cmd: "incr" | "decr") => r[cmd]("k");
dyn(r1, "incr");
const fns: Array<(r: Redis) => Promise<unknown>> = [(r) => r.get("a"), (r) => r.hgetall("b")];
void fns;
declare module "client-under-test" {
  interface RedisCommander<Context> {
    custom(key: string, n: number, cb?: Callback<number>): Result<number, Context>;
    customB(...args: (string | number)[]): Result<string[], Context>;
  }
}
r1.custom("a", 1).then((n) => n + 1);
r1.pipeline().custom("a", 1).get("x").customB("x").exec();
r1.multi().custom("x", 1).exec();
const acc = ["a"].reduce((p, k) => p.get(k), r1.pipeline());
acc.exec();
const acc2 = ["a"].reduce((p: ChainableCommander, k) => p.get(k), r1.multi());
acc2.exec();
let cond = r1.multi().set("a", 1);
if (Math.random()) cond = cond.expire("a", 1);
cond.exec().then((x) => x?.length);
const t = r1.pipeline();
const t2 = Math.random() ? t.get("a") : t.incr("b");
t2.exec();
const ps: ChainableCommander[] = [r1.pipeline(), r1.multi().get("a")];
ps.map((p) => p.exec());
async function f(p: Pipeline) {
  p.get("a");
  await p.exec();
}
void f;
type PR = Awaited<ReturnType<ChainableCommander["exec"]>>;
const pr: PR = [[null, 1]];
void pr;
type Ex = ReturnType<ReturnType<Redis["pipeline"]>["exec"]>;
const exx: Ex = Promise.resolve([[null, "x"]]);
void exx;
