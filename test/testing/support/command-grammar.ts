/**
 * What the differential test sends, family by family. Everything that stands here is compared with
 * the real servers on every run; docs/testing-commands.md is made from it.
 */

import fc from "fast-check";
import type { Kinds } from "./grammar";

/** A pair of bytes that no text encoding likes, and a text that UTF-8 needs two bytes for. */
const ODD_VALUES = ["\xff\xfe", "\xc3\xa4", "", "a\r\nb", "\0"];
const INTEGERS = ["0", "1", "-1", "2", "5", "10", "-3", "100"];
const ODD_INTEGERS = ["9223372036854775807", "-9223372036854775808", "abc", "1.5", "", " 1", "+1", "01"];

const key = fc.constantFrom("a", "b", "c", "d");
const value = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("x", "yy", "hello", "world", "10", "-7", "3.5", "0") },
  { weight: 1, arbitrary: fc.constantFrom(...ODD_VALUES) },
  { weight: 1, arbitrary: fc.integer({ min: -1000, max: 1000 }).map(String) },
);
const member = fc.constantFrom("a", "b", "c", "d", "e", "1", "2", "30", "-4", "x\xff");
const integer = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(...INTEGERS) },
  { weight: 1, arbitrary: fc.constantFrom(...ODD_INTEGERS) },
);
const score = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom("0", "1", "2", "3", "-1", "1.5", "0.1", "1e3", "3.0", "1e20", "1.7e-5"),
  },
  { weight: 1, arbitrary: fc.constantFrom("inf", "-inf", "+inf", "nan", "abc", "0x10") },
  {
    weight: 1,
    arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }).map(String),
  },
);
const float = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom("0.1", "1", "-2.5", "3.0e2", "1e-3", "10.25", "0.0001") },
  { weight: 1, arbitrary: fc.constantFrom("abc", "", "inf", "1e") },
);
const scoreLimit = fc.oneof(score, fc.constantFrom("(1", "(2", "-inf", "+inf", "(0", "(inf"));
const lexLimit = fc.constantFrom("-", "+", "[a", "(a", "[c", "(c", "[", "(z", "b");
const pattern = fc.constantFrom("*", "a*", "?", "[a-c]", "[^a]", "b", "\\a", "*b*", "[a", "x?");
const ttl = fc.constantFrom("100", "1000", "5000", "-1", "0", "abc", "9223372036854775807");
const millis = fc.constantFrom("100000", "900000", "-5", "0", "abc", "9223372036854775807");
const future = fc.constantFrom("4102444800", "4102448400", "1", "abc");
const futureMillis = fc.constantFrom("4102444800000", "4102448400000", "1", "0");
const index = fc.constantFrom("0", "1", "2", "-1", "-2", "5", "-100", "100", "abc");
const count = fc.constantFrom("1", "2", "3", "10", "0", "-1", "abc");
const keys = fc.array(key, { minLength: 1, maxLength: 3 });
const countedKeys = fc.oneof(
  { weight: 15, arbitrary: keys.map((names) => [String(names.length), ...names]) },
  { weight: 1, arbitrary: keys.map((names) => [String(names.length + 1), ...names]) },
  { weight: 1, arbitrary: keys.map((names) => ["0", ...names]) },
);

export const KINDS: Kinds = {
  key,
  keys,
  countedKeys,
  value,
  member,
  field: member,
  integer,
  float,
  score,
  scoreLimit,
  lexLimit,
  pattern,
  ttl,
  millis,
  future,
  futureMillis,
  index,
  count,
  offset: fc.constantFrom("0", "1", "2", "5", "-1"),
  bit: fc.constantFrom("0", "1", "2"),
  bitOffset: fc.constantFrom("0", "1", "7", "8", "23", "100", "-1", "abc"),
  wait: fc.constantFrom("0.001", "-1", "abc"),
  end: fc.constantFrom("LEFT", "RIGHT", "left", "NOWHERE"),
  database: fc.constantFrom("0", "1", "2", "99", "abc"),
};

/** By family; a line for each command. */
export const GRAMMAR: Readonly<Record<string, readonly string[]>> = {
  strings: [
    "get $key",
    "set $key $value [(NX|XX)] [GET] [(EX $ttl|PX $millis|EXAT $future|PXAT $futureMillis|KEEPTTL)]",
    "set $key $value",
    "set $key $integer",
    "setnx $key $value",
    "setex $key $ttl $value",
    "psetex $key $millis $value",
    "getset $key $value",
    "getdel $key",
    "getex $key [(EX $ttl|PX $millis|EXAT $future|PXAT $futureMillis|PERSIST)]",
    "mget {$key}",
    "mset {$key $value}",
    "msetnx {$key $value}",
    "incr $key",
    "decr $key",
    "incrby $key $integer",
    "decrby $key $integer",
    "incrbyfloat $key $float",
    "append $key $value",
    "strlen $key",
    "setrange $key $offset $value",
    "getrange $key $index $index",
    "substr $key $index $index",
    "lcs $key $key [(LEN|IDX)] [MINMATCHLEN $count] [WITHMATCHLEN]",
  ],
  keys: [
    "del {$key}",
    "unlink {$key}",
    "exists {$key}",
    "touch {$key}",
    "type $key",
    "expire $key $ttl [(NX|XX|GT|LT)] [(NX|XX|GT|LT)]",
    "pexpire $key $millis [(NX|XX|GT|LT)]",
    "expireat $key $future",
    "pexpireat $key $futureMillis",
    "ttl $key",
    "pttl $key",
    "expiretime $key",
    "pexpiretime $key",
    "persist $key",
    "rename $key $key",
    "renamenx $key $key",
    "copy $key $key [DB $database] [REPLACE]",
    "move $key $database",
    "keys $pattern",
    "scan 0 [MATCH $pattern] [COUNT 1000] [TYPE (string|list|zset|hash|set)]",
    "dbsize",
    "swapdb 0 $database",
    "flushdb [(ASYNC|SYNC)]",
    "object encoding $key",
    "object refcount $key",
    "object freq $key",
  ],
  hashes: [
    "hset $key {$field $value}",
    "hset $key $field $value",
    "hmset $key {$field $value}",
    "hsetnx $key $field $value",
    "hget $key $field",
    "hmget $key {$field}",
    "hgetall $key",
    "hkeys $key",
    "hvals $key",
    "hlen $key",
    "hexists $key $field",
    "hstrlen $key $field",
    "hdel $key {$field}",
    "hincrby $key $field $integer",
    "hincrbyfloat $key $field $float",
    "hscan $key 0 [MATCH $pattern] [COUNT 1000] [NOVALUES]",
    "hrandfield $key 100 [WITHVALUES]",
  ],
  lists: [
    "lpush $key {$value}",
    "rpush $key {$value}",
    "lpushx $key {$value}",
    "rpushx $key {$value}",
    "lpop $key [$count]",
    "rpop $key [$count]",
    "llen $key",
    "lindex $key $index",
    "lrange $key $index $index",
    "ltrim $key $index $index",
    "lset $key $index $value",
    "lrem $key $index $value",
    "linsert $key (BEFORE|AFTER|X) $value $value",
    "lpos $key $value [RANK $integer] [COUNT $count] [MAXLEN $count]",
    "lmove $key $key $end $end",
    "rpoplpush $key $key",
    "lmpop $countedKeys $end [COUNT $count]",
    "blpop {$key} $wait",
    "brpop {$key} $wait",
    "blmove $key $key $end $end $wait",
    "brpoplpush $key $key $wait",
    "blmpop $wait $countedKeys $end [COUNT $count]",
  ],
  sets: [
    "sadd $key {$member}",
    "srem $key {$member}",
    "smove $key $key $member",
    "smembers $key",
    "scard $key",
    "sismember $key $member",
    "smismember $key {$member}",
    "sinter {$key}",
    "sunion {$key}",
    "sdiff {$key}",
    "sinterstore $key {$key}",
    "sunionstore $key {$key}",
    "sdiffstore $key {$key}",
    "sintercard $countedKeys [LIMIT $count]",
    "sscan $key 0 [MATCH $pattern] [COUNT 1000]",
    "srandmember $key 100",
    "spop $key 100",
  ],
  "sorted sets": [
    "zadd $key [(NX|XX)] [(GT|LT)] [CH] [INCR] {$score $member}",
    "zadd $key {$score $member}",
    "zincrby $key $score $member",
    "zrem $key {$member}",
    "zcard $key",
    "zscore $key $member",
    "zmscore $key {$member}",
    "zrank $key $member [WITHSCORE]",
    "zrevrank $key $member [WITHSCORE]",
    "zcount $key $scoreLimit $scoreLimit",
    "zlexcount $key $lexLimit $lexLimit",
    "zrange $key $index $index [REV] [WITHSCORES]",
    "zrange $key $scoreLimit $scoreLimit BYSCORE [REV] [LIMIT $offset $count] [WITHSCORES]",
    "zrange $key $lexLimit $lexLimit BYLEX [REV] [LIMIT $offset $count]",
    "zrevrange $key $index $index [WITHSCORES]",
    "zrangebyscore $key $scoreLimit $scoreLimit [WITHSCORES] [LIMIT $offset $count]",
    "zrevrangebyscore $key $scoreLimit $scoreLimit [WITHSCORES] [LIMIT $offset $count]",
    "zrangebylex $key $lexLimit $lexLimit [LIMIT $offset $count]",
    "zrevrangebylex $key $lexLimit $lexLimit [LIMIT $offset $count]",
    "zrangestore $key $key $index $index [REV]",
    "zrangestore $key $key $scoreLimit $scoreLimit BYSCORE [LIMIT $offset $count]",
    "zremrangebyrank $key $index $index",
    "zremrangebyscore $key $scoreLimit $scoreLimit",
    "zremrangebylex $key $lexLimit $lexLimit",
    "zpopmin $key [$count]",
    "zpopmax $key [$count]",
    "zmpop $countedKeys (MIN|MAX) [COUNT $count]",
    "bzpopmin {$key} $wait",
    "bzpopmax {$key} $wait",
    "bzmpop $wait $countedKeys (MIN|MAX) [COUNT $count]",
    "zunion $countedKeys [WEIGHTS $score $score] [AGGREGATE (SUM|MIN|MAX)] [WITHSCORES]",
    "zinter $countedKeys [AGGREGATE (SUM|MIN|MAX)] [WITHSCORES]",
    "zdiff $countedKeys [WITHSCORES]",
    "zunionstore $key $countedKeys [AGGREGATE (SUM|MIN|MAX)]",
    "zinterstore $key $countedKeys [AGGREGATE (SUM|MIN|MAX)]",
    "zdiffstore $key $countedKeys",
    "zintercard $countedKeys [LIMIT $count]",
    "zscan $key 0 [MATCH $pattern] [COUNT 1000]",
    "zrandmember $key 100 [WITHSCORES]",
  ],
  transactions: ["multi", "exec", "discard", "watch {$key}", "unwatch"],
  connection: [
    "ping [$value]",
    "echo $value",
    "select 0",
    "client setname $value",
    "client getname",
    "publish ch $value",
    "config get maxmemory",
    "config set notify-keyspace-events (KEA|Kg$|xyz)",
    "unknowncommand $value $key",
    "object wrong $key",
    "wait 0 0",
    "command getkeys mset a b c d",
    "command count extra",
  ],
};
