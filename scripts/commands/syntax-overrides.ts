/**
 * Arguments in the notation of `syntax.ts` for commands that no server at hand describes, that newer
 * servers extended, or that the API accepts in forms of its own (objects and Maps, other orders,
 * free tails). Several lines of one command are further forms, tried in this order;
 * `::` gives one a reply of its own.
 */

const EXPIRY = "[EX seconds#|PX milliseconds#|EXAT unix-time-seconds#|PXAT unix-time-milliseconds#|KEEPTTL]";
const CONDITION = "NX|XX|IFEQ value|IFNE value|IFDEQ digest|IFDNE digest";
const TRIM = "(MAXLEN|MINID) [=|~] threshold [LIMIT count#]";
const ORIGIN = "(FROMMEMBER member|FROMLONLAT longitude# latitude#)";
const UNIT = "(M|KM|FT|MI)";
const AREA = `(BYRADIUS radius# ${UNIT}|BYBOX width# height# ${UNIT})`;
const MATCHED = "[ASC|DESC] [COUNT count# [ANY]]";
const MAP = "map:Map<RedisValue,RedisValue>";

/** Kinds of servers that neither of the snapshots is: array type, managed fieldsets, later options. */
const NEWER: Readonly<Record<string, readonly string[]>> = {
  arcount: ["key!"],
  ardel: ["key! index#..."],
  ardelrange: ["key! (start# end#)..."],
  arget: ["key! index#"],
  argetrange: ["key! start# end#"],
  arinfo: ["key! [FULL]"],
  arinsert: ["key! value..."],
  arlastitems: ["key! count# [REV]"],
  arlen: ["key!"],
  armget: ["key! index#..."],
  armset: ["key! (index# value)..."],
  arnext: ["key!"],
  arop: ["key! start# end# (SUM|MIN|MAX|AND|OR|XOR|USED|MATCH value)"],
  arring: ["key! size# value..."],
  arscan: ["key! start# end# [LIMIT limit#]"],
  arseek: ["key! index#"],
  arset: ["key! index# value..."],
  backup: ["args..."],
  blmovem: ["source! destination! (LEFT|RIGHT) (LEFT|RIGHT) timeout# [(COUNT|EXACTLY) count# [OBO|BULK]]"],
  delex: ["key! [IFEQ value|IFNE value|IFDEQ digest|IFDNE digest]"],
  digest: ["key!"],
  "cluster|migration": ["args..."],
  "himport|discard": ["fieldset-name"],
  "himport|discardall": [""],
  "himport|prepare": ["fieldset-name field..."],
  "himport|set": ["key! fieldset-name value..."],
  hotkeys: ["subcommand args..."],
  increx: ["key! args..."],
  lmovem: ["source! destination! (LEFT|RIGHT) (LEFT|RIGHT) [(COUNT|EXACTLY) count# [OBO|BULK]]"],
  sdiffcard: ["numkeys# key!... [LIMIT limit#]"],
  sentinel: ["subcommand args..."],
  sunioncard: ["numkeys# key!... [APPROX] [LIMIT limit#]"],
  trimslots: ["RANGES numranges# (start-slot# end-slot#)...", "args..."],
  vadd: ["key! args:ModuleValue ..."],
  vcard: ["key!"],
  vdim: ["key!"],
  vemb: ["key! element [RAW]"],
  vgetattr: ["key! element"],
  vinfo: ["key!"],
  vismember: ["key! element"],
  vlinks: ["key! element [WITHSCORES]"],
  vrandmember: ["key! [count#]"],
  vrange: ["key! start end [count#]"],
  vrem: ["key! element"],
  vsetattr: ["key! element attributes"],
  xcfgset: ["key! args..."],
  xidmprecord: ["key! args..."],
  xnack: ["key! group (SILENT|FAIL|FATAL) IDS numids# id... [RETRYCOUNT count#] [FORCE]"],
};

/** Described by the servers, but with fewer forms than the API or a newer server takes. */
const EXTENDED: Readonly<Record<string, readonly string[]>> = {
  set: [
    `key! value ${EXPIRY} [${CONDITION}] GET :: V | null`,
    `key! value [${CONDITION}] GET ${EXPIRY} :: V | null`,
    `key! value ${EXPIRY} (${CONDITION}) :: "OK" | null`,
    `key! value (${CONDITION}) ${EXPIRY} :: "OK" | null`,
    `key! value ${EXPIRY} :: "OK"`,
  ],
  mset: ["data:object", MAP, "(key! value)..."],
  msetnx: ["data:object", MAP, "(key! value)..."],
  hset: ["key! data:object", `key! ${MAP}`, "key! (field value)..."],
  hmset: ["key! data:object", `key! ${MAP}`, "key! (field value)..."],
  ping: ["[message]"],
  debug: ["subcommand", "subcommand args..."],
  replconf: ["", "args..."],
  psync: ["replicationid offset#"],
  pfselftest: [""],
  pfdebug: ["subcommand key!", "subcommand key! args..."],
  command: ["", "subcommand", "subcommand args..."],
  "client|kill": ["address", "(TYPE|SKIPME|ID|USER|ADDR|LADDR|MAXAGE) value", "args..."],
  "client|list": [
    "[TYPE (NORMAL|MASTER|REPLICA|PUBSUB)]",
    "[TYPE (NORMAL|MASTER|REPLICA|PUBSUB)] ID client-id#...",
    "filter args...",
  ],
  "client|tracking": ["(ON|OFF) args...", "args..."],
  "cluster|syncslots": ["args..."],
  failover: ["[TO host port# [FORCE]] [ABORT] [TIMEOUT milliseconds#]"],
  georadius: [
    `key! longitude# latitude# radius# ${UNIT} [COUNT count# [ANY]] [ASC|DESC] (STORE|STOREDIST) storekey! :: number`,
    `key! longitude# latitude# radius# ${UNIT}`,
    "key! longitude# latitude# radius# args...",
  ],
  georadius_ro: [`key! longitude# latitude# radius# ${UNIT}`, "key! longitude# latitude# radius# args..."],
  georadiusbymember: [
    `key! member radius# ${UNIT} [COUNT count# [ANY]] [ASC|DESC] (STORE|STOREDIST) storekey! :: number`,
    `key! member radius# ${UNIT}`,
    "key! member radius# args...",
  ],
  georadiusbymember_ro: [`key! member radius# ${UNIT}`, "key! member radius# args..."],
  geosearch: [`key! ${ORIGIN} ${AREA} ${MATCHED}`, "key! args..."],
  geosearchstore: [
    `destination! source! ${ORIGIN} ${AREA} ${MATCHED} [STOREDIST]`,
    "destination! source! args...",
  ],
  bitfield: [
    "key! GET encoding offset#",
    "key! (SET|INCRBY) encoding offset# value#",
    "key! OVERFLOW (WRAP|SAT|FAIL) (SET|INCRBY) encoding offset# value#",
    "key!",
    "key! args...",
  ],
  bitfield_ro: ["key!", "key! args..."],
  migrate: [
    "host port# key destination-db# timeout# [COPY] [REPLACE] [AUTH password|AUTH2 username password]",
    "host port# key destination-db# timeout# args...",
  ],
  hscan: [
    "key! cursor# [MATCH pattern~] [COUNT count#] [NOVALUES]",
    "key! cursor# COUNT count# MATCH pattern~ [NOVALUES]",
  ],
  scan: [
    "cursor# [MATCH pattern~] [COUNT count#] [TYPE type]",
    "cursor# COUNT count# MATCH pattern~ [TYPE type]",
    "cursor# TYPE type [MATCH pattern~] [COUNT count#]",
  ],
  sscan: ["key! cursor# [MATCH pattern~] [COUNT count#]", "key! cursor# COUNT count# MATCH pattern~"],
  zscan: ["key! cursor# [MATCH pattern~] [COUNT count#]", "key! cursor# COUNT count# MATCH pattern~"],
  shutdown: ["[NOSAVE|SAVE] [NOW] [FORCE] [ABORT]"],
  xadd: ["key! args..."],
  xautoclaim: ["key! group consumer min-idle-time start [COUNT count#] [JUSTID]"],
  xread: ["[COUNT count#] [BLOCK milliseconds#] STREAMS args...", "args..."],
  xreadgroup: [
    "GROUP group consumer [COUNT count#] [BLOCK milliseconds#] [NOACK] STREAMS args...",
    "GROUP group consumer args...",
  ],
  xtrim: [`key! ${TRIM} [KEEPREF|DELREF|ACKED]`],
  zadd: [
    "key! (NX|XX) [GT|LT] [CH] INCR (score# member)... :: V | null => number | null",
    "key! [GT|LT] [CH] INCR (score# member)... :: V => number",
    "key! [NX|XX] [GT|LT] [CH] (score# member)... :: number",
  ],
  zrangebyscore: [
    "key! min max [WITHSCORES] [LIMIT offset# count#]",
    "key! min max LIMIT offset# count# WITHSCORES",
  ],
  zrevrangebyscore: [
    "key! max min [WITHSCORES] [LIMIT offset# count#]",
    "key! max min LIMIT offset# count# WITHSCORES",
  ],
};

/** The forms of a command or subcommand (`client|kill`) that are not taken from COMMAND DOCS. */
export function notationsOf(name: string): readonly string[] | undefined {
  return NEWER[name] ?? EXTENDED[name];
}

/** The subcommands that no snapshot has. */
export const NEWER_SUBCOMMANDS: readonly string[] = Object.keys(NEWER).filter((name) => name.includes("|"));
