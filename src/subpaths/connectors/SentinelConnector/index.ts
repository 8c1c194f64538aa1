/** The sub-path `built/connectors/SentinelConnector`. */

export type { SentinelConnectionOptions } from "../../../client/options/sentinel-options";
export { SentinelConnector, SentinelConnector as default } from "../../../sentinel/sentinel-connector";
export { type SentinelAddress, SentinelIterator } from "../../../sentinel/sentinel-list";
