/** The sub-path `built/errors/MaxRetriesPerRequestError`. */

export { MaxRetriesPerRequestError, MaxRetriesPerRequestError as default } from "../../errors";
