/** The sub-path `built/connectors/StandaloneConnector`. */

export type { StandaloneConnectionOptions } from "../../client/options/redis-options";
export { TcpConnector as StandaloneConnector, TcpConnector as default } from "../../link/tcp-connector";
