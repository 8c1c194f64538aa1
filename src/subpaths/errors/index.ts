/** The sub-path `built/errors`: every class of error, the cluster's included, which Node has to find by their names. */

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
