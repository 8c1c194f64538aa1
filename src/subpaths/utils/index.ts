/**
 * The sub-path `built/utils`: only the exports that packages for this API use. The client itself does not
 * import it.
 */

import { parseUrl, type UrlParts } from "../../client/options/parse-url";
import { ConnectionClosedError } from "../../errors";

/** The message of the error that ends commands of a closed connection. */
export const CONNECTION_CLOSED_ERROR_MSG: string = new ConnectionClosedError().message;

/** Splits an address: its parts under the names of the options, query parameters under their own names. */
export function parseURL(url: string): UrlParts {
  return parseUrl(url);
}
