/**
 * The known state of the forms on one connection: whether its server knows them and lets its user use
 * them. A form is proven before it is first used, by one command of the client's own behind commands
 * that go singly: refused, it would have to be sent again singly, behind what was sent since.
 */

import type { Reply } from "../../protocol/resp-types";
import { Command, type Completion, issuedBy, Origin } from "../command";
import type { Argument } from "../command-spec";
import type { Form } from "./forms";

const Proof = { Asked: 0, Allowed: 1, Refused: 2 } as const;
type Proof = (typeof Proof)[keyof typeof Proof];

/** The server does not know the command, or its user may not use it or one of the keys. */
const REFUSED =
  /^(NOPERM|CROSSSLOT|ERR unknown command|ERR wrong number of arguments|ERR unsupported command)/i;
/** Only a form is answered so: its keys lie on two nodes for now. */
const DIVIDED = /^TRYAGAIN/;

export class ConnectionKnowledge {
  private readonly proofs = new Map<Form, Proof>();

  isAllowed(form: Form): boolean {
    return this.proofs.get(form) === Proof.Allowed;
  }

  isRefused(form: Form): boolean {
    return this.proofs.get(form) === Proof.Refused;
  }

  /** Nothing is known, and nobody has asked. */
  isUnknown(form: Form): boolean {
    return !this.proofs.has(form);
  }

  allow(form: Form): void {
    this.proofs.set(form, Proof.Allowed);
  }

  /** True if the error is about the form: what it stands for may fare better singly. Remembers a refusal. */
  learn(form: Form, error: Error): boolean {
    const isRefusal = REFUSED.test(error.message);
    if (isRefusal) this.proofs.set(form, Proof.Refused);
    return isRefusal || DIVIDED.test(error.message);
  }

  /** Asks by reading what these arguments name once more. */
  ask(form: Form, args: readonly Argument[]): Command {
    this.proofs.set(form, Proof.Asked);
    const completion: Completion = {
      promise: null,
      fulfil: (_command: Command, _value: Reply) => this.allow(form),
      reject: (_command, error) => {
        // Any other error says that it may be used, or nothing.
        if (!this.learn(form, error)) this.proofs.delete(form);
      },
    };
    return issuedBy(Origin.Connection, new Command(form.spec, [...args], false, completion));
  }
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
