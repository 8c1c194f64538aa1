/** Numbers above the safe integers are sent as `String(n)` gives them. */

import { expect } from "chai";
import { matrix } from "../support/matrix";

const NUMBERS = [2 ** 53, 2 ** 53 + 2, 2 ** 63, 2 ** 64, 1e20, 123456789012345680000, 999999999999999900000];

matrix("numbers from 2^53 to 1e21 are sent as String(n) gives them", {}, async ({ redis }) => {
  for (const number of NUMBERS.flatMap((one) => [one, -one])) {
    await redis.set("n", number);
    expect(await redis.get("n")).to.equal(String(number));
    const rows = await redis.pipeline().set("n", number).get("n").call("echo", number).exec();
    expect(rows?.slice(1)).to.deep.equal([
      [null, String(number)],
      [null, String(number)],
    ]);
    expect(await redis.eval("return ARGV[1]", 0, number)).to.equal(String(number));
  }
});
