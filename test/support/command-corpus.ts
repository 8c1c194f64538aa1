/**
 * Calls of every command of the three servers at hand, in an order in which each finds what it
 * needs; run from an empty database. A server that lacks a command answers with an error, which
 * is a reply like any other. Words with spaces are quoted, `\n` in them is a line break.
 */

const CALLS = String.raw`
flushall
set s hello
get s
append s _x
getrange s 0 2
substr s 0 2
setrange s 1 E
strlen s
getset s new
getdel s
set n 10
incr n
incrby n 5
incrbyfloat n 1.5
decr n2
decrby n2 3
mset a 1 b 2
mget a b nope
msetnx a 1 zz 2
setex se 100 v
psetex pse 100000 v
setnx a 9
getex a PERSIST
set s2 ohmytext
set s3 mynewtext
lcs s2 s3
lcs s2 s3 LEN
lcs s2 s3 IDX
lcs s2 s3 IDX MINMATCHLEN 4 WITHMATCHLEN
setbit bits 7 1
getbit bits 7
bitcount bits
bitpos bits 1
bitop NOT bits2 bits
bitfield bf SET u8 0 200 GET u8 0 INCRBY u2 100 1 OVERFLOW FAIL INCRBY u2 102 1
bitfield_ro bf GET u8 0
copy s2 s4
rename s4 s5
renamenx s5 s6
type s6
exists a b nope
touch a b
unlink s6
del se
expire a 1000
ttl a
pttl nope
expiretime nope
pexpiretime nope
persist a
expireat a 9999999999
pexpireat a 9999999999000
expiretime a
object ENCODING a
object REFCOUNT a
object FREQ a
object HELP
dump nope
randomkey
dbsize
keys s*
scan 0 COUNT 1000 MATCH s*
hset h f 1 g 2 d 1.5
hset h2 f 1
hget h f
hget h nope
hmget h f nope
hgetall h
hgetall nope
hkeys h
hvals h
hlen h
hexists h f
hincrby h f 2
hincrbyfloat h d 1.1
hsetnx h f 1
hstrlen h f
hdel h g
hmset h g 2
hrandfield h2
hrandfield h2 1
hrandfield h2 1 WITHVALUES
hrandfield h2 -3 WITHVALUES
hrandfield nope
hrandfield nope 2
hrandfield nope 2 WITHVALUES
hscan h 0
hscan h 0 NOVALUES
hexpire h 1000 FIELDS 1 f
httl h FIELDS 2 f nope
hpttl nope FIELDS 1 f
hexpiretime h FIELDS 1 g
hpexpiretime h FIELDS 1 g
hpersist h FIELDS 1 f
hgetex h FIELDS 1 f
hsetex h FIELDS 1 z 1
hgetdel h FIELDS 1 z
rpush l a b c d
lpush l z
lrange l 0 -1
llen l
lindex l 0
lindex l 99
linsert l BEFORE a q
lpos l c
lpos l c COUNT 0
lpos l nope
lset l 0 y
lrem l 1 y
ltrim l 0 9
lpop l
lpop l 2
lpop nope
lpop nope 2
rpop l
rpush l a b c d
lmove l l2 LEFT RIGHT
rpoplpush l l2
lmpop 1 l LEFT COUNT 2
lmpop 1 nope LEFT
blpop l2 1
brpop l2 1
blpop nope 0.01
rpush l2 a b
blmove l2 l3 LEFT RIGHT 1
brpoplpush l2 l3 1
blmove nope l3 LEFT RIGHT 0.01
blmpop 1 1 l3 LEFT
blmpop 0.01 1 nope LEFT
lpushx nope a
rpushx nope a
sadd st a
sadd st2 a b c
sadd st3 a
scard st2
sismember st a
smismember st a z
smembers st
smembers nope
sinter st st2
sunion st st3
sdiff st2 st
sintercard 2 st st2
sinterstore d1 st st2
sunionstore d2 st st2
sdiffstore d3 st2 st
srandmember st
srandmember st 5
srandmember st -2
srandmember nope
srandmember nope 2
smove st2 st4 b
spop st4
spop st3 5
spop nope
spop nope 2
srem st2 c
sscan st 0
zadd z 1 a 2.5 b inf c -inf d 3.0000000000000001 e 17179869184 f 0.1 g 1e300 h 1e-7 i
zadd z NX 1 a
zadd z XX CH 2 a
zadd z INCR 1.25 a
zadd z NX INCR 1 a
zcard z
zscore z b
zscore z c
zscore z d
zscore z nope
zmscore z a nope h i
zincrby z 0.1 g
zrank z a
zrank z nope
zrank z a WITHSCORE
zrank z nope WITHSCORE
zrevrank z a WITHSCORE
zcount z -inf +inf
zlexcount z - +
zrange z 0 -1
zrange z 0 -1 WITHSCORES
zrange z 0 1 REV WITHSCORES
zrange z (1 5 BYSCORE LIMIT 0 2 WITHSCORES
zrange nope 0 -1 WITHSCORES
zrevrange z 0 -1 WITHSCORES
zrevrange z 0 1
zrangebyscore z -inf +inf WITHSCORES
zrangebyscore z 0 5
zrevrangebyscore z +inf -inf WITHSCORES
zrangebylex z - +
zrevrangebylex z + -
zrangestore z2 z 0 1
zadd y 1 a 2 b
zadd x 3 a
zdiff 2 y x
zdiff 2 y x WITHSCORES
zinter 2 y x
zinter 2 y x WITHSCORES
zunion 2 y x
zunion 2 y x WITHSCORES
zintercard 2 y x
zdiffstore o1 2 y x
zinterstore o2 2 y x WEIGHTS 1.5 2
zunionstore o3 2 y x
zrandmember x
zrandmember x 2
zrandmember x 2 WITHSCORES
zrandmember x -2 WITHSCORES
zrandmember nope
zrandmember nope 2 WITHSCORES
zpopmin o3
zpopmin o3 2
zpopmax z
zpopmax z 2
zpopmin nope
zpopmin nope 2
zmpop 1 z MIN
zmpop 1 z MAX COUNT 2
zmpop 1 nope MIN
bzpopmin y 1
bzpopmax y 1
bzpopmin nope 0.01
zadd y 1 a 2 b
bzmpop 1 1 y MIN COUNT 2
bzmpop 0.01 1 nope MIN
zrem z a
zadd z 1 a 2 b 3 c
zremrangebyrank z 0 0
zremrangebyscore z 2 2
zremrangebylex z - (c
zscan z 0
zscan z 0 COUNT 100
geoadd geo 13.361389 38.115556 Palermo 15.087269 37.502669 Catania
geodist geo Palermo Catania
geodist geo Palermo Catania km
geodist geo Palermo nope
geohash geo Palermo nope
geopos geo Palermo nope
geosearch geo FROMMEMBER Palermo BYRADIUS 400 km ASC
geosearch geo FROMLONLAT 15 37 BYBOX 800 800 km ASC WITHCOORD WITHDIST WITHHASH
geosearchstore geo2 geo FROMLONLAT 15 37 BYBOX 800 800 km
georadius geo 15 37 400 km WITHDIST WITHCOORD ASC
georadius_ro geo 15 37 400 km ASC
georadiusbymember geo Palermo 400 km WITHDIST ASC
georadiusbymember_ro geo Palermo 400 km ASC
georadius geo 15 37 400 km STORE geo3
pfadd hll a b
pfcount hll
pfmerge hll2 hll
xadd str 1-1 f v
xadd str 1-2 f v g w
xadd str NOMKSTREAM 1-3 f v
xlen str
xrange str - +
xrange str - + COUNT 1
xrevrange str + -
xread STREAMS str 0
xread COUNT 1 STREAMS str nope 0 0
xread STREAMS str 9
xread BLOCK 10 STREAMS str $
xgroup CREATE str grp 0
xgroup CREATECONSUMER str grp c1
xreadgroup GROUP grp c1 COUNT 2 STREAMS str >
xreadgroup GROUP grp c1 STREAMS str 0
xreadgroup GROUP grp c2 STREAMS str nope2 > >
xreadgroup GROUP grp c2 BLOCK 5 STREAMS str >
xpending str grp
xpending str grp - + 10
xclaim str grp c2 0 1-1
xclaim str grp c2 0 1-1 JUSTID
xautoclaim str grp c2 0 0
xautoclaim str grp c2 0 0 JUSTID
xack str grp 1-1
xinfo STREAM str
xinfo STREAM str FULL
xinfo GROUPS str
xinfo CONSUMERS str grp
xinfo HELP
xsetid str 9-9
xdel str 1-1
xtrim str MAXLEN 1
xdelex str IDS 1 1-2
xackdel str grp IDS 1 1-2
xgroup DELCONSUMER str grp c1
xgroup SETID str grp 0
xgroup DESTROY str grp
sort l3
sort st2 ALPHA
sort_ro st2 ALPHA
sort st2 BY nosort GET # GET k_*
sort st2 ALPHA STORE sorted
eval "return 1" 0
eval "return {1,2.7,'x',{ok='fine'},false,true}" 0
eval "return {err='MY ERR'}" 0
eval "redis.setresp(3);return redis.call('hgetall','h2')" 0
eval "redis.setresp(3);return {double=1.5}" 0
eval "redis.setresp(3);return true" 0
eval "redis.setresp(3);return {map={a=1}}" 0
eval "redis.setresp(3);return {set={a=true}}" 0
eval "redis.setresp(3);return {big number='123456789012345678901234567890'}" 0
eval "redis.setresp(3);return {verbatim string={string='v',format='txt'}}" 0
eval_ro "return redis.call('get',KEYS[1])" 1 b
evalsha 0000000000000000000000000000000000000000 0
evalsha_ro 0000000000000000000000000000000000000000 0
script LOAD "return 1"
script EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db nope
script HELP
function LOAD REPLACE "#!lua name=lib\nredis.register function('f1', function(keys,args) return redis.call('hgetall', keys[1]) end)"
fcall f1 1 h2
fcall_ro f1 1 h2
function LIST
function LIST WITHCODE
function STATS
function DUMP
function HELP
ping
ping hello
echo hi
publish ch msg
spublish ch msg
pubsub CHANNELS
pubsub NUMSUB a b
pubsub NUMPAT
pubsub SHARDCHANNELS
pubsub SHARDNUMSUB a
pubsub HELP
config GET maxmemory*
config GET nope
config SET maxmemory 0
config HELP
command COUNT
command INFO get
command INFO nope
command GETKEYS mget a b
command GETKEYSANDFLAGS mget a b
command DOCS get
command LIST FILTERBY PATTERN xr*
command INFO xinfo
client ID
client GETNAME
client TRACKINGINFO
client GETREDIR
client HELP
client NO-EVICT off
client KILL ID 999999
client UNBLOCK 99999
acl WHOAMI
acl CAT scripting
acl USERS
acl LIST
acl GETUSER default
acl GETUSER nope
acl SETUSER bob on >x ~k* +get
acl GETUSER bob
acl DRYRUN bob get k1
acl DRYRUN bob set k1 v
acl LOG
acl DELUSER bob
memory USAGE b
memory USAGE nope
memory DOCTOR
memory STATS
memory HELP
latency LATEST
latency HISTORY none
latency HISTOGRAM get
latency RESET
latency DOCTOR
slowlog GET
slowlog LEN
lastsave
time
role
lolwut VERSION 5
info nope
wait 0 0
waitaof 0 0 0
object IDLETIME s2
module LIST
cluster INFO
cluster MYID
hello 2x
delifeq a 1
set a 1
delifeq a 1
msetex 2 m1 1 m2 2 EX 100
digest m1
commandlog LEN slow
commandlog GET -1 slow
vadd v VALUES 3 1 0 0 a SETATTR {"x":1}
vadd v VALUES 3 0 1 0 b
vcard v
vdim v
vemb v a
vemb v a RAW
vgetattr v a
vgetattr v b
vinfo v
vinfo nope
vismember v a
vlinks v a
vlinks v a WITHSCORES
vrandmember nope
vsetattr v b {}
vsim v ELE a
vsim v ELE a WITHSCORES
vsim v ELE a WITHSCORES WITHATTRIBS
vsim v ELE a WITHATTRIBS
vrem v a
flushdb
nosuchcommand x
`;

/** Answers that differ from one run to the next; only their shape can be compared. */
const VOLATILE =
  /^(randomkey|keys|xpending str grp -|xinfo STREAM str|xinfo CONSUMERS|client ID|memory|latency|time|lolwut|object IDLETIME|slowlog|lastsave|dump|function DUMP|acl LIST|acl CAT|acl GETUSER|vinfo|vlinks|srandmember|vrandmember|spop st2|commandlog|cluster MYID|client HELP|role)/;

export interface CorpusCall {
  readonly text: string;
  readonly word: string;
  readonly args: readonly string[];
  readonly isVolatile: boolean;
}

function parseCall(text: string): CorpusCall {
  const words = text.match(/"[^"]*"|\S+/g) ?? [];
  const [word = "", ...args] = words.map((part) =>
    part.length > 1 && part.startsWith('"') ? part.slice(1, -1).replaceAll("\\n", "\n") : part,
  );
  return { text, word, args, isVolatile: VOLATILE.test(text) };
}

export const COMMAND_CORPUS: readonly CorpusCall[] = CALLS.trim().split("\n").map(parseCall);
