/** Provides every part that an option or a method of a client needs. */

import "./auto-pipelining";
import "./bounds";
import "./bulk";
import "./cache";
import "./consumers";
import "./failover";
import "./leases";
import "./locks";
import "./maintenance";
import "./merging";
import "./messages";
import "./modules";
import "./replicas";
import "./scan-streams";
import "./sentinel";
import "./timeouts";
import "./tracing";
