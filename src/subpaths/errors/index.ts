/** The sub-path `built/errors`: every class of error, the cluster's included. */

export * from "../../cluster/cluster-errors";
export * from "../../errors";
