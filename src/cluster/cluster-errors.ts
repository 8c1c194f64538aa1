/**
 * The error classes of the cluster; built like those of errors.ts, which has the rules.
 */

import { AbortError, type ErrorCode, SluiceError } from "../errors";
import { label } from "../util/label";

/**
 * Slots could not be refreshed: none of the known nodes told the state of the cluster.
 *
 * @advice read the reasons; `natMap` or `dnsLookup` if the announced addresses cannot be reached from here
 * @section clusters
 */
export class ClusterAllFailedError extends SluiceError {
  override readonly code: ErrorCode = "CLUSTER_ALL_FAILED";
  constructor(
    /** The last reason seen. */
    readonly lastNodeError: Error | undefined,
    /** The reason of each node that was asked, by `host:port`. */
    readonly nodeErrors: Readonly<Record<string, Error>> = {},
  ) {
    super("Failed to refresh slots cache.", { cause: lastNodeError });
  }
  static {
    label(ClusterAllFailedError, "ClusterAllFailedError", "ClusterAllFailedError");
  }
}

/**
 * A node answered with something that is no description of a cluster.
 *
 * @advice nothing, unless all fail: then it is a reason of `CLUSTER_ALL_FAILED`
 * @section clusters
 */
export class TopologyError extends SluiceError {
  override readonly code: ErrorCode = "TOPOLOGY";
  static {
    label(TopologyError, "TopologyError", "TopologyError");
  }
}

/**
 * A node did not answer a question about the cluster within `slotsRefreshTimeout`.
 *
 * @advice nothing, unless all fail: then it is a reason of `CLUSTER_ALL_FAILED`
 * @section clusters
 */
export class TopologyTimeoutError extends SluiceError {
  override readonly code: ErrorCode = "TOPOLOGY_TIMEOUT";
  constructor() {
    super("timeout");
  }
  static {
    label(TopologyTimeoutError, "TopologyTimeoutError", "Error");
  }
}

/**
 * A command was redirected or lost more often than `maxRedirections` allows. It did not run.
 *
 * @advice it did not run, repeat it later; if it does not end, the nodes disagree: `redis-cli --cluster
 * check`
 * @section clusters
 */
export class TooManyRedirectionsError extends SluiceError {
  override readonly code: ErrorCode = "TOO_MANY_REDIRECTIONS";
  constructor(
    lastError: Error,
    /** The nodes that it was sent to, in order. */
    readonly nodes: readonly string[],
  ) {
    super(`Too many Cluster redirections. Last error: ${lastError.name}: ${lastError.message}`, {
      cause: lastError,
    });
  }
  static {
    label(TooManyRedirectionsError, "TooManyRedirectionsError", "Error");
  }
}

/**
 * As `TooManyRedirectionsError`, for a command of which a written copy was never answered: it may have
 * run.
 *
 * @advice check the state, or repeat only what may run twice; `retryPolicy` decides which commands come
 * here
 * @section single commands
 */
export class RedirectionsOutcomeUnknownError extends TooManyRedirectionsError {
  override readonly code: ErrorCode = "OUTCOME_UNKNOWN";
  static {
    label(RedirectionsOutcomeUnknownError, "RedirectionsOutcomeUnknownError", "Error");
  }
}

/**
 * The cluster client cannot reach any node, or is closing.
 *
 * @advice check the startup nodes; make a new client if this one was closed
 * @section clusters
 */
export class ClusterUnavailableError extends SluiceError {
  override readonly code: ErrorCode = "CLUSTER_UNAVAILABLE";
  constructor(options?: ErrorOptions) {
    super("None of startup nodes is available", options);
  }
  static {
    label(ClusterUnavailableError, "ClusterUnavailableError", "Error");
  }
}

/**
 * A command would have to wait for the cluster although the offline queue is switched off.
 *
 * @advice wait for `ready`, then repeat
 * @section single commands
 */
export class ClusterNotReadyError extends SluiceError {
  override readonly code: ErrorCode = "OFFLINE_QUEUE_DISABLED";
  constructor() {
    super("Cluster isn't ready and enableOfflineQueue options is false");
  }
  static {
    label(ClusterNotReadyError, "ClusterNotReadyError", "Error");
  }
}

/**
 * The cluster client was closed while a command waited to be sent again.
 *
 * @advice check the startup nodes; make a new client if this one was closed
 * @section clusters
 */
export class ClusterEndedError extends AbortError {
  override readonly code: ErrorCode = "CLUSTER_ENDED";
  constructor(options?: ErrorOptions) {
    super("Cluster is ended.", options);
  }
  static {
    label(ClusterEndedError, "ClusterEndedError", "AbortError");
  }
}

/**
 * As `ClusterEndedError`, for a command of which a written copy was never answered: it may have run.
 *
 * @advice check the state, or repeat only what may run twice; `retryPolicy` decides which commands come
 * here
 * @section single commands
 */
export class ClusterEndedOutcomeUnknownError extends ClusterEndedError {
  override readonly code: ErrorCode = "OUTCOME_UNKNOWN";
  static {
    label(ClusterEndedOutcomeUnknownError, "ClusterEndedOutcomeUnknownError", "AbortError");
  }
}

/**
 * The keys of a transaction lie in different slots, so no single node could run it. Nothing was sent.
 *
 * @advice give the keys the same `{hash tag}`
 * @section clusters
 */
export class CrossSlotTransactionError extends SluiceError {
  override readonly code: ErrorCode = "CROSS_SLOT_TRANSACTION";
  constructor(first: string, second: string) {
    super(
      `The keys of a transaction must share one slot, but "${first}" and "${second}" do not; nothing of it was sent (give them the same {hash tag})`,
    );
  }
  static {
    label(CrossSlotTransactionError, "CrossSlotTransactionError", "CrossSlotTransactionError");
  }
}

/**
 * MULTI without the rest of its transaction: it would capture the commands of everybody else on that node.
 *
 * @advice collect it with `multi()` and finish it with `exec()`
 * @section clusters
 */
export class OpenTransactionError extends SluiceError {
  override readonly code: ErrorCode = "OPEN_TRANSACTION";
  constructor() {
    super(
      "A cluster client runs a transaction as a whole: collect it with multi() or pipeline().multi() and finish it with exec()",
    );
  }
  static {
    label(OpenTransactionError, "OpenTransactionError", "OpenTransactionError");
  }
}

/**
 * `connect()` was overtaken by another `connect()` or by `disconnect()`.
 *
 * @advice nothing
 * @section clusters
 */
export class ConnectAbandonedError extends SluiceError {
  override readonly code: ErrorCode = "CONNECT_ABANDONED";
  static {
    label(ConnectAbandonedError, "ConnectAbandonedError", "RedisError");
  }
}

/**
 * There is no connection that could subscribe.
 *
 * @advice try again when the cluster is ready
 * @section clusters
 */
export class NoSubscriberError extends AbortError {
  override readonly code: ErrorCode = "NO_SUBSCRIBER";
  constructor(message = "No subscriber for the cluster", options?: ErrorOptions) {
    super(message, options);
  }
  static {
    label(NoSubscriberError, "NoSubscriberError", "AbortError");
  }
}

/**
 * The client was closed while it asked who serves which slot.
 *
 * @advice nothing
 * @section clusters
 */
export class RefreshVoidError extends SluiceError {
  override readonly code: ErrorCode = "REFRESH_VOID";
  constructor() {
    super("Cluster is disconnected.");
  }
  static {
    label(RefreshVoidError, "RefreshVoidError", "Error");
  }
}

/**
 * A command went to several nodes, and their answers cannot be made one.
 *
 * @advice ask the nodes one by one: `cluster.nodes()`
 * @section clusters
 */
export class AnswersDifferError extends SluiceError {
  override readonly code: ErrorCode = "ANSWERS_DIFFER";
  static {
    label(AnswersDifferError, "AnswersDifferError", "AnswersDifferError");
  }
}
