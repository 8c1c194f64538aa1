/** How long the nodes of a cluster may contradict one another, and how long a silent node is waited for. */

/**
 * Nodes exchange their views about once a second. For this long after a change, a table may be older than what a
 * node has answered, and a node that did not serve is not asked again.
 */
export const GOSSIP_MS = 1000;
/** A node that owes replies and is silent for this long does not hold up other nodes. */
export const UNHEARD_MS = 1000;
