/**
 * The parameters of CONFIG with the defaults of the servers, as CONFIG GET * tells them; a test compares them. The
 * test server has no address, file or snapshot of its own to tell: `bind`, `dir`, `port` and `save` say so.
 */

import type { ServerVersion } from "./version";

export interface Parameter {
  readonly name: string;
  readonly value: string;
  /** CONFIG SET refuses it. */
  readonly isFixed: boolean;
}

/** The letters of the versions that have it, `!` if CONFIG SET refuses it, the name, the value. */
const TABLE = `
abc acl-pubsub-default resetchannels
abc! aclfile
abc acllog-max-len 128
abc active-defrag-cycle-max 25
abc active-defrag-cycle-min 1
c active-defrag-cycle-us 500
abc active-defrag-ignore-bytes 104857600
abc active-defrag-max-scan-fields 1000
abc active-defrag-threshold-lower 10
abc active-defrag-threshold-upper 100
abc active-expire-effort 1
abc activedefrag no
abc activerehashing yes
abc! always-show-logo no
a aof-disable-auto-gc no
abc aof-load-truncated yes
bc! aof-rewrite-cpulist
abc aof-rewrite-incremental-fsync yes
abc aof-timestamp-enabled no
abc aof-use-rdb-preamble yes
abc! aof_rewrite_cpulist
abc! appenddirname appendonlydir
abc! appendfilename appendonly.aof
abc appendfsync everysec
abc appendonly no
abc auto-aof-rewrite-min-size 67108864
abc auto-aof-rewrite-percentage 100
c availability-zone
bc! bgsave-cpulist
abc! bgsave_cpulist
abc bind 127.0.0.1
abc bind-source-addr
bc! bio-cpulist
abc! bio_cpulist
abc busy-reply-threshold 5000
abc client-output-buffer-limit normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60
abc client-query-buffer-limit 1073741824
abc cluster-allow-pubsubshard-when-down yes
abc cluster-allow-reads-when-down no
abc cluster-allow-replica-migration yes
abc cluster-announce-bus-port 0
c cluster-announce-client-ipv4
c cluster-announce-client-ipv6
c cluster-announce-client-port 0
c cluster-announce-client-tls-port 0
abc cluster-announce-hostname
bc cluster-announce-human-nodename
abc cluster-announce-ip
abc cluster-announce-port 0
abc cluster-announce-tls-port 0
c cluster-blacklist-ttl 60
b cluster-compatibility-sample-ratio 0
abc! cluster-config-file nodes.conf
c cluster-config-save-behavior sync
c! cluster-databases 1
abc! cluster-enabled no
abc cluster-link-sendbuf-limit 0
c cluster-manual-failover-timeout 5000
abc cluster-migration-barrier 1
abc cluster-node-timeout 15000
abc! cluster-port 0
abc cluster-preferred-endpoint-type ip
abc cluster-replica-no-failover no
abc cluster-replica-validity-factor 10
abc cluster-require-full-coverage yes
abc cluster-slave-no-failover no
abc cluster-slave-validity-factor 10
c cluster-slot-migration-log-max-len 1000
bc cluster-slot-stats-enabled no
c commandlog-execution-slower-than 10000
c commandlog-large-reply-max-len 128
c commandlog-large-request-max-len 128
c commandlog-reply-larger-than 1048576
c commandlog-request-larger-than 1048576
c commandlog-slow-execution-max-len 128
abc crash-log-enabled yes
abc crash-memcheck-enabled yes
abc! daemonize no
abc! databases 16
abc dbfilename dump.rdb
abc dir /
abc! disable-thp yes
c dual-channel-replication-enabled no
ab dynamic-hz yes
abc! enable-debug-command no
abc! enable-module-command no
abc! enable-protected-configs no
c extended-redis-compatibility no
abc hash-max-listpack-entries 512
abc hash-max-listpack-value 64
abc hash-max-ziplist-entries 512
abc hash-max-ziplist-value 64
c! hash-seed
b hide-user-data-from-log no
c hide-user-data-from-log yes
abc hll-sparse-max-bytes 3000
abc hz 10
abc ignore-warnings
c import-mode no
a! io-threads 1
b! io-threads 1
c io-threads 1
a! io-threads-do-reads no
abc jemalloc-bg-thread yes
abc latency-monitor-threshold 0
abc latency-tracking yes
abc latency-tracking-info-percentiles 50 99 99.9
ab lazyfree-lazy-eviction no
c lazyfree-lazy-eviction yes
ab lazyfree-lazy-expire no
c lazyfree-lazy-expire yes
ab lazyfree-lazy-server-del no
c lazyfree-lazy-server-del yes
ab lazyfree-lazy-user-del no
c lazyfree-lazy-user-del yes
ab lazyfree-lazy-user-flush no
c lazyfree-lazy-user-flush yes
abc lfu-decay-time 1
abc lfu-log-factor 10
abc list-compress-depth 0
abc list-max-listpack-size -2
abc list-max-ziplist-size -2
bc locale-collate
c log-format legacy
c log-timestamp-format legacy
abc! logfile
abc loglevel notice
abc lua-time-limit 5000
abc masterauth
abc masteruser
bc max-new-connections-per-cycle 10
bc max-new-tls-connections-per-cycle 1
abc maxclients 10000
abc maxmemory 0
abc maxmemory-clients 0
abc maxmemory-eviction-tenacity 10
abc maxmemory-policy noeviction
abc maxmemory-samples 5
abc min-replicas-max-lag 10
abc min-replicas-to-write 0
abc min-slaves-max-lag 10
abc min-slaves-to-write 0
c! mptcp no
abc no-appendfsync-on-rewrite no
abc notify-keyspace-events
abc oom-score-adj no
abc oom-score-adj-values 0 200 800
abc! pidfile
abc! port 0
c prefetch-batch-max-size 16
c primaryauth
c primaryuser
abc proc-title-template {title} {listen-addr} {server-mode}
abc propagation-error-behavior ignore
abc protected-mode yes
abc proto-max-bulk-len 536870912
abc rdb-del-sync-files no
abc rdb-save-incremental-fsync yes
c rdb-version-check strict
abc! rdbchecksum yes
abc rdbcompression yes
c rdma-bind
c! rdma-completion-vector -1
c rdma-port 0
c! rdma-rx-size 1048576
ab repl-backlog-size 1048576
c repl-backlog-size 10485760
abc repl-backlog-ttl 3600
abc repl-disable-tcp-nodelay no
abc repl-diskless-load disabled
abc repl-diskless-sync yes
abc repl-diskless-sync-delay 5
abc repl-diskless-sync-max-replicas 0
c! repl-mptcp no
abc repl-ping-replica-period 10
abc repl-ping-slave-period 10
abc repl-timeout 60
abc replica-announce-ip
abc replica-announce-port 0
abc replica-announced yes
b replica-full-sync-buffer-limit 0
abc replica-ignore-disk-write-errors no
abc replica-ignore-maxmemory yes
ab replica-lazy-flush no
c replica-lazy-flush yes
abc replica-priority 100
abc replica-read-only yes
abc replica-serve-stale-data yes
abc! replicaof
abc requirepass
ab sanitize-dump-payload no
abc save
bc! server-cpulist
abc! server_cpulist
abc set-max-intset-entries 512
bc set-max-listpack-entries 128
bc set-max-listpack-value 64
abc! set-proc-title yes
abc shutdown-on-sigint default
abc shutdown-on-sigterm default
abc shutdown-timeout 10
abc slave-announce-ip
abc slave-announce-port 0
abc slave-ignore-maxmemory yes
ab slave-lazy-flush no
c slave-lazy-flush yes
abc slave-priority 100
abc slave-read-only yes
abc slave-serve-stale-data yes
abc! slaveof
c slot-migration-max-failover-repl-bytes 0
abc slowlog-log-slower-than 10000
abc slowlog-max-len 128
abc! socket-mark-id 0
abc stop-writes-on-bgsave-error yes
abc stream-node-max-bytes 4096
abc stream-node-max-entries 100
abc! supervised no
abc! syslog-enabled no
abc! syslog-facility local0
ab! syslog-ident redis
c! syslog-ident valkey
abc! tcp-backlog 511
abc tcp-keepalive 300
abc timeout 0
abc tls-auth-clients yes
c tls-auth-clients-user off
c tls-auto-reload-interval 0
abc tls-ca-cert-dir
abc tls-ca-cert-file
abc tls-cert-file
abc tls-ciphers
abc tls-ciphersuites
abc tls-client-cert-file
abc tls-client-key-file
abc tls-client-key-file-pass
abc tls-cluster no
abc tls-dh-params-file
abc tls-key-file
abc tls-key-file-pass
abc tls-port 0
abc tls-prefer-server-ciphers no
abc tls-protocols
abc tls-replication no
abc tls-session-cache-size 20480
abc tls-session-cache-timeout 300
abc tls-session-caching yes
abc tracking-table-max-keys 1000000
abc! unixsocket
c! unixsocketgroup
abc! unixsocketperm 0
b vset-force-single-threaded-execution no
abc zset-max-listpack-entries 128
abc zset-max-listpack-value 64
abc zset-max-ziplist-entries 128
abc zset-max-ziplist-value 64
`;

export function parametersOf({ letter }: ServerVersion): Parameter[] {
  const found: Parameter[] = [];
  for (const line of TABLE.trim().split("\n")) {
    const [marks = "", name = "", ...words] = line.split(" ");
    if (marks.includes(letter)) found.push({ name, value: words.join(" "), isFixed: marks.endsWith("!") });
  }
  return found;
}
