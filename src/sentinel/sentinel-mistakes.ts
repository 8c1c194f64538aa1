/**
 * Finds mistakes of the configuration in the answers of Sentinels: an unknown group, a server that is not a Sentinel, wrong
 * credentials, or the wrong protocol. An outage is not a mistake. Sends nothing and keeps no state.
 */

import { unwrapped } from "../command/ending-errors";
import { hintOf, isCertain } from "../util/error-hint";

export interface Mistake {
  readonly hint: string;
  /** Another attempt cannot succeed without a change of the configuration or of the servers. */
  readonly isCertain: boolean;
}

const NO_SUCH_MASTER = /^ERR No such master with that name/;
const NO_SENTINEL = /^ERR unknown command/i;
const REFUSED = /^(?:WRONGPASS |NOAUTH |ERR invalid password)/;

/** The mistake that explains all answers of a round. An answer without an error explains nothing. */
export function mistakeIn(answers: readonly (Error | undefined)[], name: string): Mistake | null {
  const mistakes = answers.map((answer) => (answer === undefined ? null : mistakeOf(answer, name)));
  const [first] = mistakes;
  if (!first || mistakes.some((mistake) => mistake?.hint !== first.hint)) return null;
  return { hint: first.hint, isCertain: mistakes.every((mistake) => mistake?.isCertain) };
}

function mistakeOf(answer: Error, name: string): Mistake | null {
  const reason = unwrapped(answer);
  const hint = hintOnAnswer(reason.message, name);
  if (hint !== null) return { hint, isCertain: true };
  // Connections to Sentinels have the options of any client, under other names.
  const known = hintOf(reason)?.replaceAll("`tls`", "`sentinelTLS`");
  return known === undefined ? null : { hint: known, isCertain: isCertain(answer) || isCertain(reason) };
}

function hintOnAnswer(message: string, name: string): string | null {
  if (NO_SUCH_MASTER.test(message)) {
    return `The Sentinels do not know a group with the name "${name}". Check the option \`name\`.`;
  }
  if (NO_SENTINEL.test(message)) {
    return "The server is not a Sentinel. Check the option `sentinels`, or connect to this server with `new Redis({ host, port })`.";
  }
  if (!REFUSED.test(message)) return null;
  return "The server refuses these credentials. Check the options `sentinelUsername`, `sentinelPassword` and `sentinels`.";
}
