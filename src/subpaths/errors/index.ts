/**
 * The sub-path `built/errors`: all error classes, including the cluster's, as exports that Node can detect by
 * name.
 */

export {
  AnswersDifferError,
  ClusterAllFailedError,
  ClusterEndedError,
  ClusterEndedOutcomeUnknownError,
  ClusterNotReadyError,
  ClusterUnavailableError,
  ConnectAbandonedError,
  CrossSlotTransactionError,
  NoSubscriberError,
  OpenTransactionError,
  RedirectionsOutcomeUnknownError,
  RefreshVoidError,
  TooManyRedirectionsError,
  TopologyError,
  TopologyTimeoutError,
} from "../../cluster/cluster-errors";
export * from "../../errors";
export {
  ConsumerGroupMissingError,
  LeaseAbortedError,
  LeaseReleasedError,
  LeaseTimeoutError,
  LockAbortedError,
  LockLostError,
  LockTimeoutError,
  MessageTakenError,
  TransactionConflictError,
} from "../../leases/lease-errors";
export * from "../../part-errors";
