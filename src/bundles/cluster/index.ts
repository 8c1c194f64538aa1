/** The sub-path `built/cluster` as an ES module: it includes all late parts, as in the CommonJS build. */

import "../../with/all";

export { Cluster, Cluster as default } from "../../client/cluster/cluster";
