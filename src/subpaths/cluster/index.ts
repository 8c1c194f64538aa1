/** The sub-path `built/cluster`. */

export { Cluster, Cluster as default } from "../../client/cluster";
export type { ClusterNode } from "../../client/cluster-options";
export type { ClusterStatus } from "../../client/types";
