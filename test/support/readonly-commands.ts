/** The commands of the API without writes, which it may send to a replica; sorted. */

export const READONLY: readonly string[] =
  `arcount arget argetrange argrep arinfo arlastitems arlen armget arnext arop arscan bitcount
bitfield_ro bitpos dbsize digest dump eval_ro evalsha_ro exists expiretime fcall_ro geodist geohash geopos
georadius_ro georadiusbymember_ro geosearch get getbit getrange hexists hexpiretime hget hgetall hkeys hlen hmget
hpexpiretime hpttl hrandfield hscan hstrlen httl hvals keys lcs lindex llen lolwut lpos lrange mget pexpiretime
pfcount pttl randomkey scan scard sdiff sdiffcard sinter sintercard sismember smembers smismember sort_ro
srandmember sscan strlen substr sunion sunioncard touch ttl type vcard vdim vemb vgetattr vinfo vismember vlinks
vrandmember vrange vsim xlen xpending xrange xread xrevrange zcard zcount zdiff zinter zintercard zlexcount zmscore
zrandmember zrange zrangebylex zrangebyscore zrank zrevrange zrevrangebylex zrevrangebyscore zrevrank zscan zscore
zunion`.split(/\s+/);
