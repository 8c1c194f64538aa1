/**
 * The sub-path `built/utils`: what packages written for this API take from there, and no more.
 * Nothing inside the client imports it.
 */

import { parseUrl, type UrlParts } from "../../client/options/parse-url";
import { ConnectionClosedError } from "../../errors";

/** Message of the error that ends commands of a closed connection. */
export const CONNECTION_CLOSED_ERROR_MSG: string = new ConnectionClosedError().message;

/** Takes an address apart: parts under the names of the options, query parameters under their own names. */
export function parseURL(url: string): UrlParts {
  return parseUrl(url);
}
