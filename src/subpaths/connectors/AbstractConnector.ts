/** The sub-path `built/connectors/AbstractConnector`. */

export { AbstractConnector, AbstractConnector as default, type ErrorEmitter } from "../../link/connector";
