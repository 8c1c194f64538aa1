/**
 * Records for one connection which forms its server supports, and whether its user may use them for every key.
 * A form is proven before its first use, by one command of the client behind commands that are sent singly. A
 * refused merged command would have to be sent again singly, behind later commands.
 *
 * MGET and MSET contain keys of several callers, and a server refuses the whole command for one key that the
 * user may not use. The proof therefore names a key that only a permission for all keys covers. MSET is
 * proven with a value missing: servers check permissions first and the number of arguments last, and write
 * nothing.
 *
 *   unknown --ask--> asked --reply--> proven
 *      ^                '--- NOPERM ----'---> refused
 *      '--------- after so many runs -----------'
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
/** Another node serves the key. Servers check permissions before they redirect. */
const ELSEWHERE = /^(MOVED|ASK) /;

/** Patterns for a part of the keys, such as `app:*`, do not match it. */
const ODD_KEY = "\0";

/** Runs that are sent singly after a refusal: permissions may change, and a proof costs one command. */
const RESTING_RUNS = 64;

export class ConnectionKnowledge {
  /** A number: the runs that are still sent singly. */
  private readonly states = new Map<Form, "asked" | "proven" | number>();

  /** @param connection Null before the first one. */
  constructor(readonly connection: object | null) {}

  /** The server would run it for this user: with every key, if the form has keys of several callers. */
  isProven(form: Form): boolean {
    return this.states.get(form) === "proven";
  }

  /** Called once for each run, which is sent singly if it returns true. */
  rests(form: Form): boolean {
    const state = this.states.get(form);
    if (typeof state !== "number") return false;
    if (state > 1) this.states.set(form, state - 1);
    else this.states.delete(form);
    return true;
  }

  /** True if the error concerns the form: its members may succeed singly. Remembers a refusal. */
  learn(form: Form, { message }: Error): boolean {
    const isForbidden = FORBIDDEN.test(message);
    if (!isForbidden && !UNSUPPORTED.test(message)) return DIVIDED.test(message);
    // The commands that a server supports do not change during a connection.
    const resting = isForbidden ? RESTING_RUNS : Number.POSITIVE_INFINITY;
    this.states.set(form, resting);
    const { single, spec } = form;
    debug('"%s" is not merged in %s runs: "%s" was refused: %s', single, resting, spec.name, message);
    return true;
  }

  /** The command that proves a form and changes nothing; null if none is needed or possible now. */
  ask(form: Form, args: readonly Argument[]): Command | null {
    if (this.states.has(form)) return null;
    this.states.set(form, "asked");
    const completion = completionOf((error) => {
      if (error === null || isConsent(form, error)) this.states.set(form, "proven");
      // Any other error means that the form may be used, or says nothing about it.
      else if (!this.learn(form, error)) this.states.delete(form);
    });
    return issuedBy(Origin.Connection, new Command(form.spec, proofOf(form, args), false, completion));
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
