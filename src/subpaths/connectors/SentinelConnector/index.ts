/** The sub-path `built/connectors/SentinelConnector`. */

export { SentinelConnector, SentinelConnector as default } from "../../../sentinel/sentinel-connector";
export { type SentinelAddress, SentinelIterator } from "../../../sentinel/sentinel-list";
export type { SentinelConnectionOptions } from "../../../sentinel/sentinel-options";
