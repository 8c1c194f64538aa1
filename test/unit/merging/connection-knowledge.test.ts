/** What a connection knows of the forms: questions, their answers, and refusals. */

import { expect } from "chai";
import { ReplyError } from "../../../src/errors";
import { ConnectionKnowledge } from "../../../src/merging/connection-knowledge";
import { FORMS, type Form } from "../../../src/merging/forms";

const NOPERM = new ReplyError("NOPERM No permissions to access a key");

function formOf(name: string): Form {
  return FORMS.get(name) as Form;
}

describe("ConnectionKnowledge", () => {
  it("asks once for MGET with a key of its own, and for forms of one key with that key", () => {
    const knowledge = new ConnectionKnowledge(null);
    const question = knowledge.ask(formOf("get"), ["a"]);
    expect([question?.name, question?.args]).to.deep.equal(["mget", ["\0"]]);
    expect(knowledge.ask(formOf("get"), ["a"])).to.equal(null);
    expect(knowledge.isProven(formOf("get"))).to.equal(false);
    question?.fulfil([null], { protocol: 2, replyMapping: "legacy" });
    expect(knowledge.isProven(formOf("get"))).to.equal(true);
    expect(knowledge.ask(formOf("get"), ["a"])).to.equal(null);
    expect(knowledge.ask(formOf("hget"), ["k", "f"])?.args).to.deep.equal(["k", "f"]);
  });

  it("asks about MSET without writing", () => {
    const knowledge = new ConnectionKnowledge(null);
    const form = formOf("set");
    const question = knowledge.ask(form, ["a", "1"]);
    expect([question?.name, question?.args]).to.deep.equal(["mset", ["\0", "", "\0"]]);
    question?.fail(new ReplyError("ERR wrong number of arguments for 'mset' command"));
    expect(knowledge.isProven(form)).to.equal(true);
  });

  it("takes a redirect for a yes and other errors for no answer", () => {
    const knowledge = new ConnectionKnowledge(null);
    const form = formOf("get");
    knowledge.ask(form, ["a"])?.fail(new ReplyError("LOADING the dataset"));
    expect(knowledge.isProven(form)).to.equal(false);
    knowledge.ask(form, ["a"])?.fail(new ReplyError("MOVED 0 127.0.0.1:7000"));
    expect(knowledge.isProven(form)).to.equal(true);
  });

  it("asks again some runs after a NOPERM, and never for a command that the server does not know", () => {
    const runsUntilAsked = (refusal: ReplyError): number => {
      const knowledge = new ConnectionKnowledge(null);
      const form = formOf("get");
      knowledge.ask(form, ["a"])?.fail(refusal);
      for (let runs = 0; runs < 5000; runs++) {
        if (knowledge.ask(form, ["a"]) !== null) return runs;
        expect(knowledge.rests(form)).to.equal(true);
      }
      return Number.POSITIVE_INFINITY;
    };
    expect(runsUntilAsked(NOPERM)).to.be.within(10, 1000);
    expect(runsUntilAsked(new ReplyError("ERR unknown command 'mget'"))).to.equal(Number.POSITIVE_INFINITY);
  });

  it("forgets that a form is proven when the server refuses it", () => {
    const knowledge = new ConnectionKnowledge(null);
    const form = formOf("get");
    knowledge.ask(form, ["a"])?.fulfil([null], { protocol: 2, replyMapping: "legacy" });
    expect(knowledge.learn(form, new ReplyError("TRYAGAIN"))).to.equal(true);
    expect(knowledge.isProven(form)).to.equal(true);
    expect(knowledge.learn(form, NOPERM)).to.equal(true);
    expect([knowledge.isProven(form), knowledge.rests(form)]).to.deep.equal([false, true]);
    expect(knowledge.learn(form, new ReplyError("WRONGTYPE"))).to.equal(false);
  });
});
