/** The same types through `require`. */

import sluice = require("sluice");

export async function required() {
  const redis = new sluice.Redis();
  const byDefault = new sluice.default();
  const value: string | null = await redis.get("key");
  return [byDefault, value];
}
