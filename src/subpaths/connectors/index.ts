/** The sub-path `built/connectors`. */

export { TcpConnector as StandaloneConnector } from "../../link/tcp-connector";
export { SentinelConnector } from "../../sentinel/sentinel-connector";
