/**
 * The sub-path `built/utils`: only the exports that packages for this API use. The client itself does not
 * import it.
 */

import { ConnectionClosedError } from "../../errors";

export { parseUrl as parseURL } from "../../client/options/parse-url";

/** The message of the error that ends commands of a closed connection. */
export const CONNECTION_CLOSED_ERROR_MSG: string = new ConnectionClosedError().message;
