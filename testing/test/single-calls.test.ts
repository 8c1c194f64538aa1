/**
 * Single calls on the test server and on the real server of the same version: what each tells those who watch the
 * key (WATCH), the keyspace events, and which of several faults of its arguments is told.
 */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { Redis } from "../../src/index";
import { closeClient } from "../../test/support/matrix";
import { serverKinds, startServer } from "../../test/support/shared-servers";
import { TestServer, type VersionName } from "../src";

const VERSIONS: Readonly<Record<string, VersionName>> = {
  [ServerKind.Redis]: "7.0",
  [ServerKind.Redis8]: "8.2",
  [ServerKind.Valkey]: "valkey-9.1",
};

/** Before each call. */
const GIVEN = `
flushall
set k v
set n 5
set e v ex 1000
setbit bits 7 1
rpush l a b
sadd set x
zadd z 1 a 2 b
hset h f v n 1
hset he f v
xadd s 5-5 a b
xgroup create s g1 0
xgroup createconsumer s g1 c0
geoadd g 1 1 m
pfadd pf a
`;

/** The key that is watched, then a call that may or may not change it. */
const WRITES = `
bits setbit bits 7 1
bits setbit bits 3 0
bits setbit bits 100 0
nobits setbit nobits 0 0
s xsetid s 5-5
s xsetid s 6-6
s xgroup create s g1 0
s xgroup create s g2 0
nos xgroup create nos g 0 mkstream
s xgroup createconsumer s g1 c0
s xgroup createconsumer s g1 c1
s xgroup delconsumer s g1 none
s xgroup delconsumer s g1 c0
s xgroup destroy s none
s xgroup destroy s g1
s xgroup setid s g1 0
s xgroup setid s g1 5-5
s xtrim s maxlen 10
s xdel s 1-1
s xack s g1 1-1
s xreadgroup group g1 c0 streams s >
s xreadgroup group g1 new streams s 0
s xreadgroup group g1 new streams s >
s xautoclaim s g1 c0 0 0
s xautoclaim s g1 newer 0 0
s xclaim s g1 newer 0 1-1
s xclaim s g1 c0 0 5-5 force
l ltrim l 0 -1
l ltrim l 0 0
nol ltrim nol 0 1
l lset l 0 a
l lrem l 0 zz
l linsert l before zz q
l lmove l l left left
l lmove l l left right
l rpoplpush l l
l lpushx l q
nol lpushx nol q
set sadd set x
set srem set q
set smove set set x
set smove set o q
z zadd z 1 a
z zadd z nx 5 a
z zadd z gt 0 a
z zincrby z 0 a
z zrem z q
z zremrangebyscore z 50 60
z zadd z xx 1 q
h hset h f v
h hsetnx h f w
h hdel h q
h hincrby h n 0
h hincrbyfloat h n 0
k set k v
k setnx k w
k set k w nx
k append k ""
nok append nok ""
k setrange k 0 ""
nok setrange nok 5 ""
n incrby n 0
n decrby n 0
n incrbyfloat n 0
k getset k v
k getex k
k getex k persist
e getex e persist
e getex e ex 1000
k persist k
e persist e
k expire k 1000
e expire e 1000 nx
e expire e 10 gt
k expire k -1
k pexpireat k 1
k getdel k
k mset k v
k msetnx k v j w
k rename k k
k renamenx k n
k copy k n
k touch k
k del q
k unlink q
bits bitfield bits set u8 0 1
bits bitfield bits get u8 0
bits bitfield bits incrby u8 0 0
bits bitfield bits overflow fail incrby u8 0 255
bits bitop and bits bits
nobits bitop and nobits q
pf pfadd pf a
pf pfcount pf
pf pfmerge pf
pf pfadd pf
nopf pfadd nopf
l sort l alpha store l
nol sort nol store nol
set sinterstore set set
nos2 sinterstore nos2 q
z zrangestore z z 0 -1
z zunionstore z 1 z
g geoadd g 1 1 m
g geosearchstore g g fromlonlat 1 1 byradius 1 m
he hpersist he fields 1 f
he hexpire he 1000 fields 1 f
he hexpire he 1000 fields 1 none
he hexpire he 0 fields 1 f
he hgetex he persist fields 1 f
he hgetex he ex 100 fields 1 f
he hgetex he fields 1 f
he hgetdel he fields 1 none
he hgetdel he fields 1 f
he hsetex he fields 1 f v
he hsetex he fnx fields 1 f v
he hgetex he exat 1 fields 1 f
h hsetex h ex 100 fields 1 f v
h hsetex h keepttl fields 1 f v
k getex k ex 100
k psetex k 100 v
k set k w get ex 100
k set k w keepttl
h hgetex h pxat 1 fields 1 f
he hsetex he exat 1 fields 1 f v
he hpexpire he 0 fields 1 f
he hexpireat he 1 fields 1 f
h hexpireat h 1 fields 1 f
k getex k exat 1
k expireat k 1
k pexpire k -5
l lpop l 0
set spop set 0
z zpopmin z 0
l blpop l 1
l eval "return redis.call('lrange',KEYS[1],0,-1)" 1 l
l eval "return redis.call('lset',KEYS[1],0,'a')" 1 l
k restore k 0 bad
s xadd s nomkstream 9-9 a b
nos xadd nos nomkstream 9-9 a b
s xadd s maxlen 0 9-9 a b
`;

/** Calls with faults, most of them with more than one. */
const FAULTS = `
evalsha ffffffffffffffffffffffffffffffffffffffff x
evalsha ffffffffffffffffffffffffffffffffffffffff -1
evalsha ffffffffffffffffffffffffffffffffffffffff 5 a
evalsha short x
eval "return 1" x
eval "return 1" -1
eval "return (" x
fcall nofn x
fcall nofn -1
fcall nofn 4
zrange z a b bylex byscore
zrange z [a [b bylex byscore
zrange z 0 1 byscore bylex
zrange z a b byscore
zrange z a b bylex
zrange z 0 1 limit 0 1
zrange z 0 1 bylex withscores
zrange z x y
zrange z (1 "" byscore
zrangebyscore z "" 1
zrangebyscore z ( 1
zcount z "" 5
zrangebyscore z 0 1 limit a b
zrangebylex z a b
xsetid s bad
xsetid nos 1-1
xsetid nos bad
xsetid s 0-1
xsetid s 5-5 entriesadded x
xsetid s 5-5 entriesadded -1
xsetid s 5-5 maxdeletedid bad
xsetid s 5-5 foo
xsetid str 1-1
xtrim s minid bad
xtrim nos minid bad
xtrim s maxlen x
xtrim s maxlen -1
xtrim s maxlen ~ 5 limit x
xtrim s maxlen 5 limit 10
xtrim s foo 1
xtrim str maxlen x
xrange s bad +
xrange nos bad +
xrange str bad +
xrange s ( +
xrange s - + count x
xrange s - + foo 1
xrange str - + count x
getex k persist persist
getex k ex 10 persist
getex str persist persist
getex k ex x
getex k ex -1
getex s ex x
pubsub channels a b
pubsub numpat x
pubsub foo
pubsub channels
sort z by nosort
sort z by nosort desc
sort z by nosort limit 0 1
sort z by const
sort l by nosort desc
function list withcode withcode
function list libraryname
setbit k x 2
setbit k -1 1
setbit l 0 2
getbit l x
bitfield l get x 0
incrby l x
incrbyfloat l x
lset k x 1
lset nol x 1
lrange k x y
linsert l foo a b
lpos l a rank 0
lpos k a rank 0
lmpop 0 l left
lmpop x l left
lmpop 1 l foo
zadd z nx xx 1 a
zadd z gt nx 1 a
zadd str x a
zadd z 1
zincrby str x a
hincrby str f x
hincrbyfloat str f x
setex k x v
setex k 0 v
set k v nx xx
set k v ex x
set k v ex 0
set k v keepttl ex 1
set k v get nx
expire k x
expire nok x
expire k 1 nx xx
expire k 1 foo
copy k k
copy k k2 db x
copy k k2 db 99
rename nok nok
rename nok k
move k x
move k 0
object encoding
object foo k
scan x
scan 0 count x
scan 0 count 0
scan 0 foo
scan 0 count 1000 type foo
hscan str x
sscan str x
zscan nok x
srandmember str x
srandmember set x
spop set -1
spop set x
spop str -1
hrandfield h x
hrandfield str x
zrandmember z x
sintercard 0 a
sintercard x a
sintercard 1 set limit -1
zunion 0 a
zunion x a
zunion 1 z weights x
zunion 1 z aggregate foo
zunionstore d 1 z withscores
zinter 1 str
geoadd g x y m
geoadd g 200 0 m
geoadd g nx xx 1 1 m
geosearch g frommember m byradius x m
geosearch nog frommember m
geosearch g fromlonlat 1 1 byradius 1 foo
geodist g a b foo
xadd s bad a b
xadd str bad a b
xadd s * a
xadd s 0-0 a b
xadd s nomkstream
xadd s maxlen x * a b
xread streams s
xread count x streams s 0
xread streams s bad
xread streams str 0
xread block x streams s 0
xgroup create nos g 0
xgroup create nos g bad
xgroup create s g bad
xgroup create str g bad
xgroup create s g 0 foo
xgroup setid s nog bad
xgroup setid s g1 bad
xgroup destroy nos g
xgroup createconsumer s nog c
xack s g1 bad
xack nos g1 bad
xclaim s g1 c x 1-1
xclaim s nog c x bad
xclaim s g1 c 0 bad
xautoclaim s g1 c x 0
xautoclaim s nog c 0 bad
xautoclaim s g1 c 0 0 count 0
xpending s nog
xpending s g1 idle x - + 1
xpending s g1 - + x
xpending s g1 bad + 1
xreadgroup group g1 c streams s bad
xreadgroup group nog c streams s >
xdel s bad
xdel nos bad
xdel str bad
xinfo stream nos
xinfo groups str
xinfo foo s
client foo
client no-evict x
client kill foo
client list type foo
client reply foo
client tracking foo
client setname "a b"
config get
config set foo 1
config set maxmemory
config foo
command count x
command foo
select x
select 99
swapdb x 0
swapdb 0 x
swapdb 0 99
wait x 0
wait 0 x
dump
restore k x bad
restore k -1 bad
restore k 0 bad
restore nk 0 bad
restore nk 0 bad foo
restore nk 0 bad idletime x
lcs l k
lcs k k len idx
lcs k k foo
getrange l x 1
setrange k -1 a
setrange k x a
bitcount k 0
bitcount k 0 1 foo
bitcount l x 1
bitpos k 2
bitpos l 2
bitop foo d k
bitop not d k k2
pfadd l a
pfcount str
pfmerge d str
hset h f
hmset h f
hsetnx str f v
mset a
msetnx a
ltrim str x y
lrem str x a
lmove l d foo left
lmove str d foo left
blpop l x
blpop nol -1
bzpopmin z x
zpopmin z -1
zpopmin z x
zpopmin str x
zremrangebyrank str x 1
zremrangebyscore str x 1
zremrangebylex str x 1
zrank z a foo
zdiff 1 z weights 1
zmpop 1 z foo
zmpop 1 z min count 0
zrangestore d z 0 1 withscores
zrangestore d str x y
zrevrangebyscore str x y
`;

/** Parameters of CONFIG that say where a server is and how it was started. */
const OF_THE_PLACE = new Set(
  "unixsocket unixsocketperm enable-protected-configs enable-module-command aclfile bind daemonize dbfilename dir enable-debug-command latency-monitor-threshold logfile loglevel notify-keyspace-events pidfile port save slowlog-log-slower-than".split(
    " ",
  ),
);

type Words = readonly string[];

/** One call a line; a word with spaces, or an empty one, stands in quotes. */
function callsOf(text: string): Words[] {
  return text
    .trim()
    .split("\n")
    .map((line) => (line.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replace(/^"|"$/g, "")));
}

/** A server with somebody who watches keys, somebody who writes them, and somebody who hears of it. */
class Stage {
  private readonly events: string[] = [];
  private readonly watcher: Redis;
  private readonly writer: Redis;
  private readonly listener: Redis;

  constructor(options: { host: string; port: number }) {
    this.watcher = new Redis(options);
    this.writer = new Redis(options);
    this.listener = new Redis(options);
    this.listener.on("pmessage", (_pattern, channel: string, key: string) => {
      this.events.push(`${channel.replace("__keyevent@0__:", "")} ${key}`);
    });
  }

  async open(): Promise<void> {
    await this.writer.config("SET", "notify-keyspace-events", "KEA");
    await this.listener.psubscribe("__keyevent@0__:*");
  }

  close(): Promise<unknown> {
    return Promise.all([this.watcher, this.writer, this.listener].map(closeClient));
  }

  async prepare(): Promise<void> {
    for (const call of callsOf(GIVEN)) await this.call(call);
  }

  /** Names and values of CONFIG. */
  async configuration(): Promise<Map<string, string>> {
    const words = (await this.writer.call("CONFIG", "GET", "*")) as string[];
    return new Map(words.flatMap((name, at) => (at % 2 === 0 ? [[name, words[at + 1] as string]] : [])));
  }

  /** The reply as a text, or the error. */
  call([name = "", ...args]: Words): Promise<string> {
    return this.writer.call(name, ...args).then(JSON.stringify, (error: Error) => error.message);
  }

  async change(key: string, call: Words): Promise<object> {
    await this.prepare();
    await this.watcher.watch(key);
    await this.settle();
    this.events.length = 0;
    const reply = await this.call(call);
    await this.settle();
    const events = [...this.events];
    const isTouched = (await this.watcher.multi().ping().exec()) === null;
    return { call: call.join(" "), reply, events, isTouched };
  }

  /** What the server has told the listener so far has arrived. */
  private async settle(): Promise<void> {
    await this.writer.ping();
    await this.listener.ping();
  }
}

for (const kind of serverKinds()) {
  describe(`single calls on the test server, ${kind}`, () => {
    let server: ServerProcess;
    let testServer: TestServer;
    let real: Stage;
    let tested: Stage;
    before(async () => {
      server = await startServer(kind);
      testServer = await TestServer.start({ version: VERSIONS[kind] as VersionName });
      real = new Stage(server);
      tested = new Stage({ host: "127.0.0.1", port: testServer.port });
      await Promise.all([real.open(), tested.open()]);
    });
    after(async () => {
      await Promise.all([real.close(), tested.close()]);
      await Promise.all([server.stop(), testServer.stop()]);
    });

    it("tell the same to those who watch a key, and the same events", async () => {
      for (const [key = "", ...call] of callsOf(WRITES)) {
        expect(await tested.change(key, call)).to.deep.equal(await real.change(key, call));
      }
    });

    it("tell the parameters of the server and their defaults", async () => {
      const [told, expected] = await Promise.all([tested.configuration(), real.configuration()]);
      expect([...told.keys()].sort()).to.deep.equal([...expected.keys()].sort());
      for (const [name, value] of expected)
        if (!OF_THE_PLACE.has(name)) expect(told.get(name), name).to.equal(value);
    });

    it("tell the same fault of several", async () => {
      for (const call of callsOf(FAULTS)) {
        await Promise.all([real.prepare(), tested.prepare()]);
        const replies = await Promise.all([tested.call(call), real.call(call)]);
        expect(replies[0], call.join(" ")).to.equal(replies[1]);
      }
    });
  });
}
