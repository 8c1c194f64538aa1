/** The first byte of every token of RESP2 and RESP3. */

export const TypeByte = {
  SimpleString: 0x2b, // +
  Error: 0x2d, // -
  Integer: 0x3a, // :
  Bulk: 0x24, // $
  List: 0x2a, // *
  Null: 0x5f, // _
  Boolean: 0x23, // #
  Double: 0x2c, // ,
  BigNumber: 0x28, // (
  BulkError: 0x21, // !
  Verbatim: 0x3d, // =
  Map: 0x25, // %
  Set: 0x7e, // ~
  Push: 0x3e, // >
  Attribute: 0x7c, // |
} as const;

/** 1 for the first bytes of replies other than pushes and metadata. */
export const BEGINS_REPLY = new Uint8Array(256);
for (const type of Object.values(TypeByte)) BEGINS_REPLY[type] = 1;
for (const type of [TypeByte.Push, TypeByte.Attribute]) BEGINS_REPLY[type] = 0;
