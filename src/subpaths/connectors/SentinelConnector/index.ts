/** The sub-path `built/connectors/SentinelConnector`. */

export type { SentinelAddress, SentinelConnectionOptions } from "../../../client/options/sentinel-options";
export { SentinelConnector, SentinelConnector as default } from "../../../sentinel/sentinel-connector";
export { SentinelIterator } from "../../../sentinel/sentinel-list";
