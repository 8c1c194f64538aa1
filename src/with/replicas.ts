/** Provides the code of the option `replicas`. */

import { replicaReads } from "../client/chain";
import * as part from "../client/replicas/client-replicas";

replicaReads.provide(part);
