/**
 * The forms of the replies to the calls of one view (`with({ replies })`): how the decoding of their replies differs
 * from that of the connection. Bytes instead of strings are a property of the command itself (`wantsBuffers`).
 */

import { OptionError } from "../errors";
import { Decode } from "../protocol/resp-types";
import type { MapForm } from "./command-spec";
import type { ReplyForms } from "./generated/signatures";

export type { ReplyForms };

const BULK_FORMS: readonly string[] = ["buffer", "string"];
const MAP_BITS: Readonly<Record<string, number>> = { map: Decode.Maps, object: Decode.Objects };
const NUMBER_BITS: Readonly<Record<string, number>> = {
  bigint: Decode.BigInts,
  string: Decode.StringNumbers,
  number: 0,
};
const FORMS: Readonly<Record<keyof ReplyForms, readonly string[]>> = {
  bulk: BULK_FORMS,
  map: Object.keys(MAP_BITS),
  number: Object.keys(NUMBER_BITS),
};

export class ReplyForm {
  readonly areBuffers: boolean;
  /** The form of maps; null: that of the reply mapping. */
  readonly map: MapForm | null;
  /** The `Decode` bits that it decides, and their values. */
  private readonly mask: number;
  private readonly bits: number;

  constructor(forms: ReplyForms) {
    checkForms(forms);
    const { bulk, map, number } = forms;
    this.areBuffers = bulk === "buffer";
    this.map = map ?? null;
    const mapBits = map === undefined ? 0 : (MAP_BITS[map] ?? 0);
    const numberBits = number === undefined ? 0 : (NUMBER_BITS[number] ?? 0);
    this.mask = number === undefined ? 0 : Decode.BigInts | Decode.StringNumbers;
    this.bits = mapBits | numberBits;
  }

  /** The forms are those of the connection, except for Buffers. */
  get isUsual(): boolean {
    return (this.mask | this.bits) === 0;
  }

  on(decoding: number): number {
    return (decoding & ~this.mask) | this.bits;
  }
}

/** An ignored form would give the caller other types than it expects. */
function checkForms(forms: ReplyForms): void {
  for (const [name, form] of Object.entries(forms)) {
    if (form === undefined) continue;
    const known = FORMS[name as keyof ReplyForms];
    if (known === undefined) {
      throw new OptionError(
        `Unknown form "${name}" in replies of with(): expected one of ${Object.keys(FORMS).join(", ")}`,
      );
    }
    if (!known.includes(String(form))) {
      throw new OptionError(
        `Invalid ${name} "${String(form)}" in replies of with(): expected one of ${known.join(", ")}`,
      );
    }
  }
}
