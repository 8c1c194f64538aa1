/** Options for reads from the replicas of one server: types only, described as in client/options/common-options.ts. */

export interface ReplicaReadOptions {
  /**
   * Replicas that serve reads: a host, `host:port`, a list of these and of `{ host, port }`, or `true` for the replicas that
   * the primary reports. The default port is that of the primary. See docs/replicas.md.
   */
  replicas?: boolean | string | readonly (string | { host: string; port?: number | undefined })[] | undefined;
  /**
   * With `replicas`: `"replica"`, the default, sends reads to replicas, and to the primary while no replica can serve them.
   * `"nearest"` sends reads to the server with the shortest round trip, which may be the primary. `"primary"` sends only the
   * reads of `with({ readFrom: "replica" })` to replicas.
   */
  scaleReads?: "replica" | "nearest" | "primary" | undefined;
  /**
   * With `replicas`: time after the reply to a write in which reads of its keys go to the primary, so that this client reads
   * its own writes. The default is 1000; 0 disables this.
   * @unit ms
   */
  readYourWrites?: number | undefined;
  /**
   * With `replicas`: zone of this client. Reads prefer servers of this zone, if the servers report their zones (Valkey 8.1:
   * `availability-zone`).
   */
  availabilityZone?: string | undefined;
}
