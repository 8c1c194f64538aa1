/** What a connection knows of the forms: questions, their answers, and the rest after a refusal. */

import { expect } from "chai";
import { ReplyError } from "../../../src/errors";
import { ConnectionKnowledge } from "../../../src/merging/connection-knowledge";
import { type Form, formsOf } from "../../../src/merging/forms";

const NOPERM = new ReplyError("NOPERM No permissions to access a key");

function formOf(name: string): Form {
  return formsOf([name]).get(name) as Form;
}

/** Runs that go singly until a question is asked, which is refused. */
function runsUntilAsked(knowledge: ConnectionKnowledge, form: Form): number {
  for (let runs = 0; ; runs++) {
    knowledge.rests(form);
    const question = knowledge.ask(form, ["a"]);
    if (question === null) continue;
    question.fail(NOPERM);
    return runs;
  }
}

describe("ConnectionKnowledge", () => {
  it("asks once for MGET with a key of its own, and for forms of one key with that key", () => {
    const knowledge = new ConnectionKnowledge();
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
    const knowledge = new ConnectionKnowledge();
    const form = formOf("set");
    const question = knowledge.ask(form, ["a", "1"]);
    expect([question?.name, question?.args]).to.deep.equal(["mset", ["\0", "", "\0"]]);
    question?.fail(new ReplyError("ERR wrong number of arguments for 'mset' command"));
    expect(knowledge.isProven(form)).to.equal(true);
  });

  it("takes a redirect for a yes and other errors for no answer", () => {
    const knowledge = new ConnectionKnowledge();
    const form = formOf("get");
    knowledge.ask(form, ["a"])?.fail(new ReplyError("LOADING the dataset"));
    expect(knowledge.isProven(form)).to.equal(false);
    knowledge.ask(form, ["a"])?.fail(new ReplyError("MOVED 0 127.0.0.1:7000"));
    expect(knowledge.isProven(form)).to.equal(true);
  });

  it("asks about a read again and again after a refusal, ever more seldom", () => {
    const knowledge = new ConnectionKnowledge();
    const waits = Array.from({ length: 10 }, () => runsUntilAsked(knowledge, formOf("get")));
    const later = waits.slice(1);
    expect(waits[0]).to.equal(0);
    expect(later.every((wait, index) => index === 0 || wait >= (later[index - 1] as number))).to.equal(true);
    expect(later.at(-1)).to.equal(later.at(-2));
    expect(later[0])
      .to.be.greaterThan(0)
      .and.lessThan(later.at(-1) as number);
  });

  it("does not ask again for what the server does not know", () => {
    const knowledge = new ConnectionKnowledge();
    const form = formOf("get");
    expect(knowledge.learn(form, new ReplyError("ERR unknown command 'mget'"))).to.equal(true);
    for (let runs = 0; runs < 5000; runs++) expect(knowledge.rests(form)).to.equal(true);
    expect(knowledge.ask(form, ["a"])).to.equal(null);
  });
});
