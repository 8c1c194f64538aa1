/**
 * Records for one connection which forms its server supports, and whether its user may use them for every key.
 * A form is proven before its first use, by one command of the client behind commands that are sent singly. A
 * refused merged command would have to be sent again singly, behind later commands.
 *
 * MGET and MSET contain keys of several callers, and a server refuses the whole command for one key that the
 * user may not use. The proof therefore names a key that only a right to all keys covers.
 *
 *   unknown --ask--> asked --reply--> proven --NOPERM--> resting --so many runs--> unknown
 */

import type { Reply } from "../../protocol/resp-types";
import { debugLog } from "../../util/debug";
import { Command, type Completion, issuedBy, Origin } from "../command";
import type { Argument } from "../command-spec";
import { specOf } from "../command-table";
import type { Form } from "./forms";

const debug = debugLog("merging");

/** The user may not use the command or one of the keys. */
const FORBIDDEN = /^NOPERM/;
/** The server does not know the command, or not with keys of several slots. */
const UNSUPPORTED = /^(CROSSSLOT|ERR unknown command|ERR wrong number of arguments|ERR unsupported command)/i;
/** Only a merged form gets this reply: its keys are currently on two nodes. */
const DIVIDED = /^TRYAGAIN/;
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
  /** The server has accepted it, or would have. */
  isProven = false;
  /** The user may use every key, or the form needs only one. */
  isForAllKeys: boolean;
  isAsked = false;
  /** The number of runs that are still sent singly. */
  resting = 0;
  private nextRest = SHORTEST_REST;

  constructor(private readonly form: Form) {
    this.isForAllKeys = form.isOneKey;
  }

  prove(): void {
    this.isProven = true;
    this.nextRest = SHORTEST_REST;
  }

  /** Rights may be granted again. A write cannot be proven without being sent, so it is not tried again. */
  refuse(error: Error): void {
    const { spec, single, isOneKey, isWrite } = this.form;
    this.isProven = false;
    this.isForAllKeys = isOneKey;
    this.isAsked = false;
    this.resting = isWrite || !FORBIDDEN.test(error.message) ? Number.POSITIVE_INFINITY : this.nextRest;
    this.nextRest = Math.min(this.nextRest * 2, LONGEST_REST);
    debug(
      '"%s" is not merged in the next %s runs of this connection: "%s" was refused: %s',
      single,
      this.resting,
      spec.name,
      error,
    );
  }
}

/** The reply to the proof of a form. */
class Answer implements Completion {
  readonly promise = null;

  constructor(
    private readonly form: Form,
    private readonly knowledge: Knowledge,
  ) {}

  fulfil(_command: Command, _value: Reply): void {
    this.knowledge.isForAllKeys = true;
    if (!this.form.isWrite) this.knowledge.prove();
  }

  reject(command: Command, error: Error): void {
    if (ELSEWHERE.test(error.message)) this.fulfil(command, null);
    else if (isRefusal(error)) this.knowledge.refuse(error);
    // Any other error means that the form may be used, or says nothing about it.
    else this.knowledge.isAsked = false;
  }
}

export class ConnectionKnowledge {
  private readonly known = new Map<Form, Knowledge>();

  isProven(form: Form): boolean {
    return this.of(form).isProven;
  }

  isForAllKeys(form: Form): boolean {
    return this.of(form).isForAllKeys;
  }

  /** Called once for each run, which is sent singly if it returns true. */
  rests(form: Form): boolean {
    const knowledge = this.of(form);
    if (knowledge.resting === 0) return false;
    knowledge.resting--;
    return true;
  }

  allow(form: Form): void {
    this.of(form).prove();
  }

  /** True if the error concerns the form: its members may succeed singly. Remembers a refusal. */
  learn(form: Form, error: Error): boolean {
    if (isRefusal(error)) this.of(form).refuse(error);
    return isRefusal(error) || DIVIDED.test(error.message);
  }

  /** The command that proves a form: a read, or a write that changes nothing; null if none is possible now. */
  ask(form: Form, args: readonly Argument[]): Command | null {
    const knowledge = this.of(form);
    const isKnown = knowledge.isForAllKeys && (knowledge.isProven || form.isWrite);
    if (isKnown || knowledge.isAsked || knowledge.resting > 0) return null;
    knowledge.isAsked = true;
    const answer = new Answer(form, knowledge);
    if (form.isWrite) {
      return issuedBy(Origin.Connection, new Command(specOf("setrange"), [ODD_KEY, "0", ""], false, answer));
    }
    const asked = form.isOneKey ? [...args] : [ODD_KEY];
    return issuedBy(Origin.Connection, new Command(form.spec, asked, false, answer));
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

function isRefusal({ message }: Error): boolean {
  return FORBIDDEN.test(message) || UNSUPPORTED.test(message);
}

const known = new WeakMap<object, ConnectionKnowledge>();

export function knowledgeOf(connection: object): ConnectionKnowledge {
  let knowledge = known.get(connection);
  if (knowledge === undefined) {
    knowledge = new ConnectionKnowledge();
    known.set(connection, knowledge);
  }
  return knowledge;
}
