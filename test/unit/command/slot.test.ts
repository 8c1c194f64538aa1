import { expect } from "chai";
import fc from "fast-check";
import { specOf } from "../../../src/command/command-table";
import { commonSlotOf, MIXED_SLOTS, NO_SLOT, slotOf, slotOfKey } from "../../../src/command/slot";

/** The CRC of the cluster specification, a bit at a time. */
function slotBySpecification(key: Buffer): number {
  const text = key.toString("latin1");
  const [, tag = ""] = /^[^{]*\{([^}]*)\}/s.exec(text) ?? [];
  let checksum = 0;
  for (const byte of Buffer.from(tag === "" ? text : tag, "latin1")) {
    checksum ^= byte << 8;
    for (let bit = 0; bit < 8; bit++)
      checksum = (checksum & 0x8000 ? (checksum << 1) ^ 0x1021 : checksum << 1) & 0xffff;
  }
  return checksum & 16383;
}

describe("slot", () => {
  it("of a key with an empty tag is that of the whole key, as servers have it", () => {
    // Asked of a server: CLUSTER KEYSLOT.
    expect(slotOfKey("foo{}{bar}")).to.equal(8363);
    expect(slotOfKey(Buffer.from("foo{}{bar}"))).to.equal(8363);
  });

  it("of a key honours the hash tag and takes Buffers", () => {
    expect(slotOfKey("foo")).to.equal(12182);
    expect(slotOfKey(Buffer.from("foo"))).to.equal(12182);
    expect(slotOfKey("{foo}.bar")).to.equal(12182);
    expect(slotOfKey("{}foo")).to.not.equal(12182);
    expect(slotOfKey("123456789")).to.equal(0x31c3);
    expect(slotOfKey("ключ")).to.equal(slotOfKey(Buffer.from("ключ")));
  });

  it("of a string is that of its bytes, whatever it contains", () => {
    const text = fc.oneof(
      fc.string(),
      fc.string({ minLength: 28, maxLength: 36 }),
      fc.string({ unit: "binary" }),
      fc.string({ unit: fc.constantFrom("{", "}", "a", "b", "é", "\ud800") }),
    );
    fc.assert(
      fc.property(text, (key) => {
        expect(slotOfKey(key)).to.equal(slotBySpecification(Buffer.from(key)));
        expect(slotOfKey(Buffer.from(key))).to.equal(slotBySpecification(Buffer.from(key)));
      }),
      { numRuns: 1000 },
    );
  });

  it("of a command is that of its first key", () => {
    expect(slotOf(specOf("get"), ["foo"])).to.equal(12182);
    expect(slotOf(specOf("eval"), ["s", "1", "foo"])).to.equal(12182);
    expect(slotOf(specOf("mget"), ["foo", "bar"])).to.equal(12182);
    expect(slotOf(specOf("ping"), [])).to.equal(NO_SLOT);
  });

  it("is common only if all keys share it", () => {
    expect(commonSlotOf(specOf("mget"), ["{foo}1", "{foo}2"])).to.equal(12182);
    expect(commonSlotOf(specOf("mget"), ["foo", "bar"])).to.equal(MIXED_SLOTS);
    expect(commonSlotOf(specOf("mset"), ["foo", "bar"])).to.equal(12182);
    expect(commonSlotOf(specOf("ping"), [])).to.equal(NO_SLOT);
  });
});
