/**
 * The error classes of the cluster room; built like those of errors.ts, which has the rules.
 */

import { AbortError, label, SluiceError } from "../errors";

/** Slots could not be refreshed: none of the known nodes told the state of the cluster. */
export class ClusterAllFailedError extends SluiceError {
  constructor(
    /** The last reason seen. */
    readonly lastNodeError: Error | undefined,
    /** The reason of each node that was asked, by `host:port`. */
    readonly nodeErrors: Readonly<Record<string, Error>> = {},
  ) {
    super("Failed to refresh slots cache.", { cause: lastNodeError });
  }
  static {
    label(ClusterAllFailedError.prototype, "ClusterAllFailedError", "CLUSTER_ALL_FAILED");
  }
}

/** A node answered with something that is no description of a cluster. */
export class TopologyError extends SluiceError {
  static {
    label(TopologyError.prototype, "TopologyError", "TOPOLOGY");
  }
}

/** A node did not answer a question about the cluster within `slotsRefreshTimeout`. */
export class TopologyTimeoutError extends SluiceError {
  constructor() {
    super("timeout");
  }
  static {
    label(TopologyTimeoutError.prototype, "Error", "TOPOLOGY_TIMEOUT");
  }
}

/** A command was redirected or lost more often than `maxRedirections` allows. It did not run. */
export class TooManyRedirectionsError extends SluiceError {
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
    label(TooManyRedirectionsError.prototype, "Error", "TOO_MANY_REDIRECTIONS");
  }
}

/** As `TooManyRedirectionsError`, for a command of which a written copy was never answered: it may have run. */
export class RedirectionsOutcomeUnknownError extends TooManyRedirectionsError {
  static {
    label(RedirectionsOutcomeUnknownError.prototype, "Error", "OUTCOME_UNKNOWN");
  }
}

/** The cluster client cannot reach any node, or is closing. */
export class ClusterUnavailableError extends SluiceError {
  constructor(options?: ErrorOptions) {
    super("None of startup nodes is available", options);
  }
  static {
    label(ClusterUnavailableError.prototype, "Error", "CLUSTER_UNAVAILABLE");
  }
}

/** A command would have to wait for the cluster although the offline queue is switched off. */
export class ClusterNotReadyError extends SluiceError {
  constructor() {
    super("Cluster isn't ready and enableOfflineQueue options is false");
  }
  static {
    label(ClusterNotReadyError.prototype, "Error", "OFFLINE_QUEUE_DISABLED");
  }
}

/** The cluster client was closed while a command waited to be sent again. */
export class ClusterEndedError extends AbortError {
  constructor(options?: ErrorOptions) {
    super("Cluster is ended.", options);
  }
  static {
    label(ClusterEndedError.prototype, "AbortError", "CLUSTER_ENDED");
  }
}

/** As `ClusterEndedError`, for a command of which a written copy was never answered: it may have run. */
export class ClusterEndedOutcomeUnknownError extends ClusterEndedError {
  static {
    label(ClusterEndedOutcomeUnknownError.prototype, "AbortError", "OUTCOME_UNKNOWN");
  }
}

/** The keys of a transaction lie in different slots, so no single node could run it. Nothing was sent. */
export class CrossSlotTransactionError extends SluiceError {
  constructor(first: string, second: string) {
    super(
      `The keys of a transaction must share one slot, but "${first}" and "${second}" do not; nothing of it was sent (give them the same {hash tag})`,
    );
  }
  static {
    label(CrossSlotTransactionError.prototype, "CrossSlotTransactionError", "CROSS_SLOT_TRANSACTION");
  }
}

/** MULTI without the rest of its transaction: it would capture the commands of everybody else on that node. */
export class OpenTransactionError extends SluiceError {
  constructor() {
    super(
      "A cluster client runs a transaction as a whole: collect it with multi() or pipeline().multi() and finish it with exec()",
    );
  }
  static {
    label(OpenTransactionError.prototype, "OpenTransactionError", "OPEN_TRANSACTION");
  }
}

/** `connect()` was overtaken by another `connect()` or by `disconnect()`. */
export class ConnectAbandonedError extends SluiceError {
  static {
    label(ConnectAbandonedError.prototype, "RedisError", "CONNECT_ABANDONED");
  }
}

/** There is no connection that could subscribe. */
export class NoSubscriberError extends AbortError {
  constructor(message = "No subscriber for the cluster", options?: ErrorOptions) {
    super(message, options);
  }
  static {
    label(NoSubscriberError.prototype, "AbortError", "NO_SUBSCRIBER");
  }
}

/** The client was closed while it asked who serves which slot. */
export class RefreshVoidError extends SluiceError {
  constructor() {
    super("Cluster is disconnected.");
  }
  static {
    label(RefreshVoidError.prototype, "Error", "REFRESH_VOID");
  }
}

/** A command went to several nodes, and their answers cannot be made one. */
export class AnswersDifferError extends SluiceError {
  static {
    label(AnswersDifferError.prototype, "AnswersDifferError", "ANSWERS_DIFFER");
  }
}
