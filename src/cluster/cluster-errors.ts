/**
 * The error classes of the cluster. The rules of errors.ts apply.
 */

import { unwrapped } from "../command/ending-errors";
import { AbortError, type ErrorCode, SluiceError } from "../errors";
import { label } from "../util/label";

/**
 * No known node returned the slot table. `nodeErrors` has the reason of each node.
 *
 * @advice read the reasons; if this host cannot reach the announced addresses, set `natMap` or `dnsLookup`
 * @section clusters
 */
export class ClusterAllFailedError extends SluiceError {
  constructor(
    /** The error of the node that failed last. */
    readonly lastNodeError: Error | undefined,
    /** The error of each node that was asked, by `host:port`. */
    readonly nodeErrors: Readonly<Record<string, Error>> = {},
  ) {
    super("Failed to refresh slots cache.", { cause: lastNodeError && unwrapped(lastNodeError) });
  }
}

/**
 * The reply of a node is not a valid slot table.
 *
 * @advice the client asks other nodes; if all fail, this is a reason of `CLUSTER_ALL_FAILED`
 * @section clusters
 */
export class TopologyError extends SluiceError {}

/**
 * A node did not return the slot table within `slotsRefreshTimeout`.
 *
 * @advice the client asks other nodes; if all fail, this is a reason of `CLUSTER_ALL_FAILED`
 * @section clusters
 */
export class TopologyTimeoutError extends SluiceError {
  constructor() {
    super("timeout");
  }
}

/**
 * A command was redirected or lost more often than `maxRedirections` allows. It did not run.
 *
 * @advice repeat the command later; if this continues, the nodes disagree: run `redis-cli --cluster check`
 * @section clusters
 */
export class TooManyRedirectionsError extends SluiceError {
  constructor(
    lastError: Error,
    /** The nodes that the command was sent to, in order. */
    readonly nodes: readonly string[],
  ) {
    super(`Too many Cluster redirections. Last error: ${lastError.name}: ${lastError.message}`, {
      cause: lastError,
    });
  }
}

/**
 * Like `TooManyRedirectionsError`, for a command that was written at least once without a reply. It may have run.
 *
 * @advice check the state, or repeat only commands that may run twice; `retryPolicy` decides which commands are sent
 * again
 * @section single commands
 */
export class RedirectionsOutcomeUnknownError extends TooManyRedirectionsError {}

/**
 * The cluster client cannot reach any node, or it is closing. `cause` is the reason.
 *
 * @advice check the startup nodes; if the client was closed, create a new one
 * @section clusters
 */
export class ClusterUnavailableError extends SluiceError {
  constructor(options?: ErrorOptions) {
    super("None of startup nodes is available", options);
  }
}

/**
 * The cluster is not ready, and the offline queue is off.
 *
 * @advice wait for the event `ready`, then repeat the command
 * @section single commands
 */
export class ClusterNotReadyError extends SluiceError {
  constructor() {
    super("Cluster isn't ready and enableOfflineQueue options is false");
  }
}

/**
 * The cluster client ended while a command waited to be sent again.
 *
 * @advice check the startup nodes; if the client was closed, create a new one
 * @section clusters
 */
export class ClusterEndedError extends AbortError {
  constructor(options?: ErrorOptions) {
    super("Cluster is ended.", options);
  }
}

/**
 * Like `ClusterEndedError`, for a command that was written at least once without a reply. It may have run.
 *
 * @advice check the state, or repeat only commands that may run twice; `retryPolicy` decides which commands are sent
 * again
 * @section single commands
 */
export class ClusterEndedOutcomeUnknownError extends ClusterEndedError {}

/**
 * The keys of a transaction are in different slots, so no single node can run it. Nothing was sent.
 *
 * @advice give the keys the same `{hash tag}`
 * @section clusters
 */
export class CrossSlotTransactionError extends SluiceError {
  constructor(first: string, second: string) {
    super(
      `All keys of a transaction must be in one slot, but "${first}" and "${second}" are in different slots. Nothing was sent. Give the keys the same {hash tag}.`,
    );
  }
}

/**
 * MULTI was sent alone on a cluster client. It would capture commands of other callers at that node.
 *
 * @advice queue the transaction with `multi()` and send it with `exec()`
 * @section clusters
 */
export class OpenTransactionError extends SluiceError {
  constructor() {
    super(
      "A cluster client sends a transaction as a whole. Queue it with multi() or pipeline().multi(), and send it with exec().",
    );
  }
}

/**
 * `connect()` or `disconnect()` was called again before this `connect()` was ready.
 *
 * @advice none is needed
 * @section clusters
 */
export class ConnectAbandonedError extends SluiceError {}

/**
 * The cluster client has no connection for subscriptions.
 *
 * @advice subscribe again when the cluster is ready
 * @section clusters
 */
export class NoSubscriberError extends AbortError {
  constructor(message = "No subscriber for the cluster", options?: ErrorOptions) {
    super(message, options);
  }
}

/**
 * The client was closed while it refreshed the slot table.
 *
 * @advice none is needed
 * @section clusters
 */
export class RefreshVoidError extends SluiceError {
  constructor() {
    super("Cluster is disconnected.");
  }
}

/**
 * A command was sent to several nodes, and their replies cannot be merged.
 *
 * @advice send the command to each node of `cluster.nodes()`
 * @section clusters
 */
export class AnswersDifferError extends SluiceError {}

// The API fixes the names that differ from the class.
label<ErrorCode>(null, {
  ANSWERS_DIFFER: { AnswersDifferError },
  CLUSTER_ALL_FAILED: { ClusterAllFailedError },
  CROSS_SLOT_TRANSACTION: { CrossSlotTransactionError },
  OPEN_TRANSACTION: { OpenTransactionError },
  TOPOLOGY: { TopologyError },
});
label<ErrorCode>("AbortError", {
  CLUSTER_ENDED: { ClusterEndedError },
  OUTCOME_UNKNOWN: { ClusterEndedOutcomeUnknownError },
  NO_SUBSCRIBER: { NoSubscriberError },
});
label<ErrorCode>("Error", {
  OFFLINE_QUEUE_DISABLED: { ClusterNotReadyError },
  CLUSTER_UNAVAILABLE: { ClusterUnavailableError },
  OUTCOME_UNKNOWN: { RedirectionsOutcomeUnknownError },
  REFRESH_VOID: { RefreshVoidError },
  TOO_MANY_REDIRECTIONS: { TooManyRedirectionsError },
  TOPOLOGY_TIMEOUT: { TopologyTimeoutError },
});
label<ErrorCode>("RedisError", { CONNECT_ABANDONED: { ConnectAbandonedError } });
