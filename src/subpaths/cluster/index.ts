/** The sub-path `built/cluster`. */

export { Cluster, Cluster as default } from "../../client/cluster/cluster";
export type { ClusterNode } from "../../client/options/cluster-options";
export type { ClusterStatus } from "../../cluster/lifecycle";
