/** The sub-path `built/cluster/ClusterOptions`. */

import { type ClusterOptions, defaultClusterOptions } from "../../client/cluster-options";

export type { ClusterOptions, DNSLookupFunction, DNSResolveSrvFunction } from "../../client/cluster-options";
export type { NatMap } from "../../client/sentinel-options";

export const DEFAULT_CLUSTER_OPTIONS = defaultClusterOptions as ClusterOptions;
