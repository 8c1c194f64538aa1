/** The sub-path `built/errors/ClusterAllFailedError`. */

export { ClusterAllFailedError, ClusterAllFailedError as default } from "../../cluster/cluster-errors";
