/** Forms of replies: the bits that they decide, and the settings that they refuse. */

import { expect } from "chai";
import { ReplyForm, type ReplyForms } from "../../../src/command/reply-form";
import { Decode } from "../../../src/protocol/resp-types";

const { BigInts, Buffers, Maps, Objects, Resp3Shapes, StringNumbers } = Decode;

describe("ReplyForm", () => {
  it("changes only what it names", () => {
    const decodings = [0, StringNumbers, Resp3Shapes, Resp3Shapes | StringNumbers | Buffers];
    const on = (forms: ReplyForms): number[] => decodings.map((bits) => new ReplyForm(forms).on(bits));
    expect(on({})).to.deep.equal(decodings);
    expect(on({ bulk: "buffer" })).to.deep.equal(decodings);
    expect(on({ map: "map" })).to.deep.equal(decodings.map((bits) => bits | Maps));
    expect(on({ map: "object" })).to.deep.equal(decodings.map((bits) => bits | Objects));
    expect(on({ number: "string" })).to.deep.equal(decodings.map((bits) => bits | StringNumbers));
    const withoutStrings = decodings.map((bits) => bits & ~StringNumbers);
    expect(on({ number: "number" })).to.deep.equal(withoutStrings);
    expect(on({ number: "bigint" })).to.deep.equal(withoutStrings.map((bits) => bits | BigInts));
  });

  it("knows whether the connection decodes alike", () => {
    const usual: ReplyForms[] = [{}, { bulk: "buffer" }, { bulk: "string", map: undefined }];
    const unusual: ReplyForms[] = [{ map: "object" }, { number: "number" }, { number: "bigint" }];
    expect(usual.map((forms) => new ReplyForm(forms).isUsual)).to.deep.equal([true, true, true]);
    expect(unusual.map((forms) => new ReplyForm(forms).isUsual)).to.deep.equal([false, false, false]);
  });

  it("refuses unknown forms", () => {
    const make = (forms: object) => () => new ReplyForm(forms as ReplyForms);
    expect(make({ bulk: "bytes" })).to.throw(
      'Invalid bulk "bytes" of with({ replies }): expected "buffer" or "string"',
    );
    expect(make({ map: "toString" })).to.throw('expected "map" or "object"');
    expect(make({ number: null })).to.throw('Invalid number "null"');
    expect(make({ numbers: "bigint" })).to.throw(
      'Unknown form "numbers" of with({ replies }): expected one of bulk, map, number',
    );
  });
});
