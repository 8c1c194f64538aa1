/** The sub-path `built/cluster/util`: types only. */

export type { NodeRole } from "../../client/options/cluster-options";
