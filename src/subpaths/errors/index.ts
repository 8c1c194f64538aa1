/**
 * The sub-path `built/errors`: all error classes, including the cluster's, as exports that Node can detect by
 * name.
 */

export * from "../../cluster/cluster-errors";
export * from "../../errors";
export * from "../../failover/failover-error";
export * from "../../leases/lease-errors";
export * from "../../maintenance/maintenance-error";
export * from "../../part-errors";
export * from "../../streaming/message-errors";
