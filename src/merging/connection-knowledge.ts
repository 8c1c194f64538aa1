/**
 * Records for one connection which forms its server supports, and whether its user may use them for every key.
 * A form is proven before its first use, by one command of the client behind commands that are sent singly. A
 * refused merged command would have to be sent again singly, behind later commands.
 *
 * MGET and MSET contain keys of several callers, and a server refuses the whole command for one key that the
 * user may not use. The proof therefore names a key that only a right to all keys covers. MSET is proven with a
 * value missing: servers check rights first and the number of arguments last, and write nothing.
 *
 *   unknown --ask--> asked --reply--> proven --NOPERM--> resting --so many runs--> unknown
 */

import { Command, issuedBy, Origin } from "../command/command";
import type { Argument } from "../command/command-spec";
import { completionOf } from "../command/own-command";
import { debugLog } from "../util/debug";
import type { Form } from "./forms";

const debug = debugLog("merging");

/** The user may not use the command or one of the keys. */
const FORBIDDEN = /^NOPERM/;
/** The server does not know the command, or not with keys of several slots. */
const UNSUPPORTED = /^(CROSSSLOT|ERR unknown command|ERR wrong number of arguments|ERR unsupported command)/i;
/** Only a merged form gets this reply: its keys are currently on two nodes. */
const DIVIDED = /^TRYAGAIN/;
/** The reply to MSET with a value missing, if the user may use MSET. */
const MISCOUNTED = /^ERR wrong number of arguments/i;
/** Another node serves the key. Servers check rights before that. */
const ELSEWHERE = /^(MOVED|ASK) /;

/** Patterns for a part of the keys, such as `app:*`, do not match it. */
const ODD_KEY = "\0";

/**
 * Runs that are sent singly after a refusal; doubled by each further one. Each refused proof costs one command.
 */
const SHORTEST_REST = 16;
const LONGEST_REST = 1024;

/** The state of one form. */
class Knowledge {
  /** The server would run it for this user: with every key, if the form has keys of several callers. */
  isProven = false;
  isAsked = false;
  /** The number of runs that are still sent singly. */
  resting = 0;
  private nextRest = SHORTEST_REST;

  constructor(private readonly form: Form) {}

  prove(): void {
    this.isProven = true;
    this.nextRest = SHORTEST_REST;
  }

  /** Rights may be granted again; a server does not learn a command. */
  refuse(message: string): void {
    const { spec, single } = this.form;
    this.isProven = false;
    this.isAsked = false;
    this.resting = FORBIDDEN.test(message) ? this.nextRest : Number.POSITIVE_INFINITY;
    this.nextRest = Math.min(this.nextRest * 2, LONGEST_REST);
    debug(
      '"%s" is not merged in the next %s runs of this connection: "%s" was refused: %s',
      single,
      this.resting,
      spec.name,
      message,
    );
  }
}

export class ConnectionKnowledge {
  private readonly known = new Map<Form, Knowledge>();

  isProven(form: Form): boolean {
    return this.of(form).isProven;
  }

  /** Called once for each run, which is sent singly if it returns true. */
  rests(form: Form): boolean {
    const knowledge = this.of(form);
    if (knowledge.resting === 0) return false;
    knowledge.resting--;
    return true;
  }

  /** True if the error concerns the form: its members may succeed singly. Remembers a refusal. */
  learn(form: Form, { message }: Error): boolean {
    if (isRefusal(message)) this.of(form).refuse(message);
    return isRefusal(message) || DIVIDED.test(message);
  }

  /** The command that proves a form and changes nothing; null if none is needed or possible now. */
  ask(form: Form, args: readonly Argument[]): Command | null {
    const knowledge = this.of(form);
    if (knowledge.isProven || knowledge.isAsked || knowledge.resting > 0) return null;
    knowledge.isAsked = true;
    const completion = completionOf((error) => {
      if (error === null || isConsent(form, error)) knowledge.prove();
      else if (isRefusal(error.message)) knowledge.refuse(error.message);
      // Any other error means that the form may be used, or says nothing about it.
      else knowledge.isAsked = false;
    });
    return issuedBy(Origin.Connection, new Command(form.spec, proofOf(form, args), false, completion));
  }

  private of(form: Form): Knowledge {
    let knowledge = this.known.get(form);
    if (knowledge === undefined) {
      knowledge = new Knowledge(form);
      this.known.set(form, knowledge);
    }
    return knowledge;
  }
}

function proofOf({ isOneKey, isWrite }: Form, args: readonly Argument[]): Argument[] {
  if (isOneKey) return [...args];
  return isWrite ? [ODD_KEY, "", ODD_KEY] : [ODD_KEY];
}

/** The reply to a proof shows that the user may use the form. */
function isConsent({ isWrite }: Form, { message }: Error): boolean {
  return ELSEWHERE.test(message) || (isWrite && MISCOUNTED.test(message));
}

function isRefusal(message: string): boolean {
  return FORBIDDEN.test(message) || UNSUPPORTED.test(message);
}
