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
