/** The sub-path `built/cluster/ClusterOptions`. */

export {
  type ClusterOptions,
  type DNSLookupFunction,
  type DNSResolveSrvFunction,
  defaultClusterOptions as DEFAULT_CLUSTER_OPTIONS,
} from "../../client/cluster-options";
export type { NatMap } from "../../client/sentinel-options";
