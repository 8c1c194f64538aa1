/** The sub-path `built/cluster/ClusterOptions`. */

import { type ClusterOptions, defaultClusterOptions } from "../../client/options/cluster-options";

export type {
  ClusterOptions,
  DNSLookupFunction,
  DNSResolveSrvFunction,
} from "../../client/options/cluster-options";
export type { NatMap } from "../../util/address-map";

export const DEFAULT_CLUSTER_OPTIONS = defaultClusterOptions as ClusterOptions;
