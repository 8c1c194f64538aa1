/** Bits of a command's flags; the generator of the command table writes them. */
export const Flag = {
  Write: 1,
  Readonly: 2,
  DenyOom: 4,
  NoScript: 8,
  Blocking: 16,
  Fast: 32,
  NoAuth: 64,
  NoMulti: 128,
  Pubsub: 256,
  Admin: 512,
  Stale: 1024,
  Loading: 2048,
  AllowBusy: 4096,
  MovableKeys: 8192,
} as const;
