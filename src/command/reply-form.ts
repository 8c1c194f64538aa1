/**
 * The reply forms of one view (`with({ replies })`): the differences from the decoding of the connection.
 * Buffers instead of strings are a property of the command itself (`wantsBuffers`).
 */

import { Decode } from "../protocol/resp-types";
import { checkSettings, oneOf, type SettingChecks } from "../util/check-settings";
import type { MapForm } from "./command-spec";
import type { ReplyForms } from "./generated/signatures";

export type { ReplyForms };

const MAP_BITS: Readonly<Record<string, number>> = { map: Decode.Maps, object: Decode.Objects };
const NUMBER_BITS: Readonly<Record<string, number>> = {
  bigint: Decode.BigInts,
  string: Decode.StringNumbers,
  number: 0,
};
/** An ignored form would give the caller other types than it expects. */
const FORMS: SettingChecks<ReplyForms> = {
  bulk: oneOf("buffer", "string"),
  map: oneOf(...Object.keys(MAP_BITS)),
  number: oneOf(...Object.keys(NUMBER_BITS)),
};

export class ReplyForm {
  readonly areBuffers: boolean;
  /** The form of maps; null: that of the reply mapping. */
  readonly map: MapForm | null;
  /** The `Decode` bits that it decides, and their values. */
  private readonly mask: number;
  private readonly bits: number;

  constructor(forms: ReplyForms) {
    checkSettings("with({ replies })", forms, FORMS, "form");
    const { bulk, map, number } = forms;
    this.areBuffers = bulk === "buffer";
    this.map = map ?? null;
    this.mask = number === undefined ? 0 : Decode.BigInts | Decode.StringNumbers;
    this.bits = (MAP_BITS[map ?? ""] ?? 0) | (NUMBER_BITS[number ?? ""] ?? 0);
  }

  /** The forms are those of the connection, except for Buffers. */
  get isUsual(): boolean {
    return (this.mask | this.bits) === 0;
  }

  on(decoding: number): number {
    return (decoding & ~this.mask) | this.bits;
  }
}
