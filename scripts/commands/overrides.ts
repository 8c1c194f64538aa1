/**
 * Facts that the servers do not report, or report differently from what the client needs, each with its
 * reason. The generator takes `readonly`, `write`, `blocking`, key positions and tips from the snapshots. The
 * facts below override these.
 */

/** Commands of newer servers that the API does not have; methods all the same. */
export const NEWER_METHOD_NAMES: readonly string[] = ["clusterscan", "commandlog", "delifeq"];

/** Every method of the API. Rows beyond it are in the table but are no part of this list. */
export const METHOD_NAMES: readonly string[] = `
acl append arcount ardel ardelrange arget argetrange argrep arinfo arinsert arlastitems arlen armget armset
arnext arop arring arscan arseek arset asking auth backup bgrewriteaof bgsave bitcount bitfield bitfield_ro
bitop bitpos blmove blmovem blmpop blpop brpop brpoplpush bzmpop bzpopmax bzpopmin client cluster command
config copy dbsize debug decr decrby del delex digest discard dump echo eval eval_ro evalsha evalsha_ro exec
exists expire expireat expiretime failover fcall fcall_ro flushall flushdb function geoadd geodist geohash
geopos georadius georadius_ro georadiusbymember georadiusbymember_ro geosearch geosearchstore get getbit
getdel getex getrange getset hdel hello hexists hexpire hexpireat hexpiretime hget hgetall hgetdel hgetex
himport hincrby hincrbyfloat hkeys hlen hmget hmset hotkeys hpersist hpexpire hpexpireat hpexpiretime hpttl
hrandfield hscan hset hsetex hsetnx hstrlen httl hvals incr incrby incrbyfloat increx info keys lastsave
latency lcs lindex linsert llen lmove lmovem lmpop lolwut lpop lpos lpush lpushx lrange lrem lset ltrim memory
mget migrate module move mset msetex msetnx multi object persist pexpire pexpireat pexpiretime pfadd pfcount
pfdebug pfmerge pfselftest ping psetex psubscribe psync pttl publish pubsub punsubscribe quit randomkey
readonly readwrite rename renamenx replconf replicaof reset restore restore-asking role rpop rpoplpush rpush
rpushx sadd save scan scard script sdiff sdiffcard sdiffstore select sentinel set setbit setex setnx setrange
shutdown sinter sintercard sinterstore sismember slaveof slowlog smembers smismember smove sort sort_ro spop
spublish srandmember srem sscan ssubscribe strlen subscribe substr sunion sunioncard sunionstore sunsubscribe
swapdb sync time touch trimslots ttl type unlink unsubscribe unwatch vadd vcard vdim vemb vgetattr vinfo
vismember vlinks vrandmember vrange vrem vsetattr vsim wait waitaof watch xack xackdel xadd xautoclaim xcfgset
xclaim xdel xdelex xgroup xidmprecord xinfo xlen xnack xpending xrange xread xreadgroup xrevrange xsetid xtrim
zadd zcard zcount zdiff zdiffstore zincrby zinter zinterstore zintercard zlexcount zmpop zmscore zpopmax
zpopmin zrandmember zrange zrangebylex zrangebyscore zrangestore zrank zrem zremrangebylex zremrangebyrank
zremrangebyscore zrevrange zrevrangebylex zrevrangebyscore zrevrank zscan zscore zunion zunionstore
`
  .trim()
  .split(/\s+/)
  .sort();

export interface FlagOverride {
  /** Name of a `CommandFlag` bit. */
  readonly flag: string;
  readonly commands: string;
  readonly reason: string;
}

export const FLAG_OVERRIDES: readonly FlagOverride[] = [
  {
    flag: "Write",
    commands: "eval evalsha fcall publish spublish",
    reason: "what a script does is not known; a message that is published twice is received twice",
  },
  {
    flag: "EnterSubscriber",
    commands: "subscribe psubscribe ssubscribe",
    reason: "turns a RESP2 connection to subscriber mode",
  },
  {
    flag: "ExitSubscriber",
    commands: "unsubscribe punsubscribe sunsubscribe",
    reason: "leaves subscriber mode when nothing is left",
  },
  {
    flag: "ValidInSubscriber",
    commands: "subscribe psubscribe ssubscribe unsubscribe punsubscribe sunsubscribe ping quit",
    reason: "what the API lets through in subscriber mode",
  },
  { flag: "ValidInMonitor", commands: "monitor auth", reason: "what the API lets through under MONITOR" },
  {
    flag: "NeverAutoPipelined",
    commands: "subscribe psubscribe ssubscribe unsubscribe punsubscribe sunsubscribe",
    reason: "answered by pushes, and changes the mode of the connection",
  },
  {
    flag: "NeverAutoPipelined",
    commands:
      "auth select client hello readonly readwrite asking reset quit monitor debug himport sync psync",
    reason: "changes or depends on the state of the connection",
  },
  {
    flag: "NeverAutoPipelined",
    commands: "multi exec discard watch unwatch",
    reason: "what lies between them is one unit",
  },
  { flag: "NeverAutoPipelined", commands: "info script cluster", reason: "the API never batches them" },
  {
    flag: "NeverAutoPipelined",
    commands:
      "blpop brpop brpoplpush blmove blmovem bzpopmin bzpopmax bzmpop blmpop xread xreadgroup wait waitaof",
    reason: "may hold up everything behind it",
  },
  {
    flag: "Handshake",
    commands: "auth hello select client readonly info",
    reason: "what the API lets through before the connection is ready",
  },
  { flag: "WillDisconnect", commands: "quit shutdown", reason: "the server closes the connection" },
  {
    flag: "IgnoresReconnectOnError",
    commands: "client",
    reason: "sent by the handshake; older servers refuse it",
  },
  { flag: "Waits", commands: "wait waitaof", reason: "waits for replicas or the disk, not for data" },
  {
    flag: "TimeoutLast",
    commands: "blpop brpop brpoplpush blmove bzpopmin bzpopmax",
    reason: "syntax of the command",
  },
  { flag: "TimeoutFirst", commands: "bzmpop blmpop", reason: "syntax of the command" },
  { flag: "TimeoutFifth", commands: "blmovem", reason: "syntax of the command" },
  { flag: "BlockOption", commands: "xread xreadgroup", reason: "syntax of the command" },
  { flag: "DependsOnArguments", commands: "xread xreadgroup", reason: "blocks only with the option BLOCK" },
  { flag: "Select", commands: "select", reason: "the word itself" },
  { flag: "Multi", commands: "multi", reason: "the word itself" },
  { flag: "Exec", commands: "exec", reason: "the word itself" },
  { flag: "Discard", commands: "discard", reason: "the word itself" },
  { flag: "Watch", commands: "watch", reason: "the word itself" },
  { flag: "Unwatch", commands: "unwatch", reason: "the word itself" },
  { flag: "Monitor", commands: "monitor", reason: "the word itself" },
  { flag: "Reset", commands: "reset", reason: "the word itself" },
  { flag: "Quit", commands: "quit", reason: "the word itself" },
  { flag: "Fieldsets", commands: "himport", reason: "the word itself" },
  {
    flag: "OneSlot",
    commands: "msetex",
    reason:
      "Valkey 9.1 does not check the slots of its keys; test/cluster/keys-of-several-slots.test.ts looks for others",
  },
  {
    flag: "Unanswered",
    commands: "client monitor psync replconf sync",
    reason: "CLIENT REPLY OFF, REPLCONF ACK: no reply; MONITOR, SYNC: replies without end",
  },
];

/** Key rules in the form of `parseKeyRule` that cannot be read from the snapshots. */
export const KEY_OVERRIDES: Readonly<Record<string, { readonly keys: string; readonly reason: string }>> = {
  sort: { keys: "o", reason: "patterns after BY and GET count as keys; the servers call them unknown" },
  sort_ro: { keys: "o", reason: "as sort" },
  georadius: { keys: "g5", reason: "two keywords; a key may be spelled like one of them" },
  georadiusbymember: { keys: "g4", reason: "as georadius, with one argument less" },
  migrate: { keys: "m", reason: "the keys after KEYS count only if the third argument is empty" },
  clusterscan: { keys: "c", reason: "its first argument is a cursor, which leads to a node as a key does" },
};
