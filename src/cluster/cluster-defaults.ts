/**
 * Default values of the options that the cluster router reads. The defaults of a client
 * (`client/options/cluster-options.ts`) contain them. The file imports nothing, so that a client of one
 * server does not load the router.
 */

export type RoutingOptions = Readonly<typeof ROUTING_DEFAULTS>;

export const ROUTING_DEFAULTS = {
  maxRedirections: 16,
  retryDelayOnMoved: 0,
  retryDelayOnFailover: 100,
  retryDelayOnClusterDown: 100,
  retryDelayOnTryAgain: 100,
  slotsRefreshTimeout: 1000,
};
