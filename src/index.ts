/**
 * Public surface, exports only. `require("sluice")` is the `Redis` class itself with the named
 * exports on it; the names below are found by Node's static scan for `import { ... }`.
 */

import { Redis } from "./client/redis";

export { Cluster } from "./client/cluster/cluster";
export type { CallLimits } from "./client/command-limits";
export type {
  ConsumeHandlerOptions,
  ConsumeOptions,
  MessageHandler,
  StreamMessages,
  StreamValue,
} from "./client/consumers/consume";
export type { StreamMessage } from "./client/consumers/delivery";
export { Failover, type FailoverOptions } from "./client/failover/failover";
export type { QuitOptions, QuitReport } from "./client/graceful-quit";
export type { LeasedConnection } from "./client/leases/leased-connection";
export type { LeaseOptions, TransactionOptions } from "./client/leases/leasing";
export { LegacyCommand as Command } from "./client/legacy-command";
export type { Lock, LockOptions } from "./client/locks/lock";
export type {
  ClusterNode,
  ClusterOptions,
  NodeRole,
} from "./client/options/cluster-options";
export type { AutoPipeliningWindow, HimportFieldset } from "./client/options/common-options";
export type {
  CommonRedisOptions,
  RedisOptions,
  StandaloneConnectionOptions,
} from "./client/options/redis-options";
export { print } from "./client/print";
export { Redis } from "./client/redis";
export type {
  BoundStats,
  ClusterStats,
  CommandStats,
  ConnectionStats,
  FlushStats,
  LinkStats,
  QueueStats,
  RedirectStats,
  RedisStats,
  ReplicaStats,
  RoundTripStats,
  StallStats,
} from "./client/stats";
export type { FormedCommands, RedisStatus } from "./client/types";
export type { NodeReplies, OnAllOptions, ScanPageOptions } from "./client/whole-cluster/whole-cluster";
export * from "./cluster/cluster-errors";
export type { DNSLookupFunction, DNSResolveSrvFunction } from "./cluster/discovery";
export type { ClusterStatus } from "./cluster/lifecycle";
export type { ReadFrom } from "./command/command-extra";
export type {
  Callback,
  ChainableCommander,
  ClientContext,
  ExecOptions,
  InlineTransaction,
  JsonMatches,
  Known,
  KnownForms,
  ModuleCommandName,
  ModuleReply,
  ModuleValue,
  RedisCommander,
  RedisKey,
  RedisValue,
  ReplyForms,
  ReplyMapping,
  ReplyRow,
  ReplyRows,
  ReplyShape,
  Result,
  RowError,
  SearchDocument,
  SearchReply,
  SearchRows,
  TimeSeries,
} from "./command/generated/signatures";
export type { ScriptDefinition } from "./command/script";
export type { ErrorCode } from "./errors";
export * from "./errors";
export type {
  FailoverDatabase,
  FailoverSettings,
  ProbeClient,
  ProbeOptions,
} from "./failover/databases";
export type { FailoverReport } from "./failover/failover-connector";
export * from "./failover/failover-error";
export type { DatabaseState } from "./failover/health";
export type { DatabaseStats, FailoverStats } from "./failover/monitor";
export type { LeaseLimits } from "./leases/connection-pool";
export * from "./leases/lease-errors";
export type { Bounds } from "./link/admission";
export { AbstractConnector } from "./link/connector";
export type { CredentialRequest, CredentialsProvider } from "./link/credential-provider";
export type { CredentialReason, ExpiringCredentials } from "./link/credentials";
export type { WatchdogOptions } from "./link/link-options";
export * from "./maintenance/maintenance-error";
export type { MaintenanceReport } from "./maintenance/mover";
export type {
  BatchOperationContext,
  CommandTraceContext,
  ConnectTraceContext,
} from "./observability/channels";
export type {
  CacheContext,
  ConnectionContext,
  FlushCause,
  FlushContext,
  PipelineContext,
  PubSubContext,
  RedirectContext,
} from "./observability/work-channels";
export type { TimeoutDetails } from "./part-errors";
export * from "./part-errors";
export type { Bulk, BulkOptions, BulkProgress, BulkSummary } from "./pipeline/bulk";
export type { BulkCommand } from "./pipeline/bulk-batch";
export { Pipeline } from "./pipeline/pipeline";
export type { ReplicaReadOptions } from "./replicas/replica-options";
export { SentinelConnector } from "./sentinel/sentinel-connector";
export { type SentinelAddress, SentinelIterator } from "./sentinel/sentinel-list";
export type { SentinelConnectionOptions } from "./sentinel/sentinel-options";
export type {
  KeyspaceEntry,
  KeyspaceEvent,
  KeyspaceEvents,
  KeyspaceEventsOptions,
} from "./streaming/keyspace-events";
export * from "./streaming/message-errors";
export type {
  EntryReader,
  MessageEntry,
  MessageGap,
  Messages,
  MessagesKind,
  MessagesOptions,
  PublishedMessage,
} from "./streaming/messages";
export { ScanStream, type ScanStreamOptions } from "./streaming/scan-stream";
export type { NatMap } from "./util/address-map";
export type { ErrorCommand } from "./util/credentials";
export { mayHaveRun } from "./util/may-have-run";
export default Redis;
