/** Vectors as bytes: Float32Array and Buffers to and from the vector sets of a real server. */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import { matrix } from "../support/matrix";
import { serverKinds } from "../support/shared-servers";

/** The test server knows the command and does not implement it. */
const REAL = serverKinds().filter((kind) => kind !== ServerKind.Test);
const VECTORS = { replyMappings: ["legacy", "resp3"], requires: ["vadd"], servers: REAL } as const;

const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

describe("vector sets", () => {
  matrix("take typed arrays, views of them, and Buffers", VECTORS, async ({ redis, replyMapping }) => {
    const flag = replyMapping === "resp3" ? [true, false] : [1, 0];
    const x = new Float32Array([1, 0, 0]);
    const y = new Float32Array([0, 1, 0]);
    const between = new Float32Array([9, 9, 0.8, 0.6, 0, 9]).subarray(2, 5);
    const added = redis.vadd("v", "FP32", x, "x", "NOQUANT");
    // The command has its own copy.
    x.fill(0);
    expect([await added, await redis.vadd("v", "FP32", bytesOf(y), "y", "NOQUANT")]).to.deep.equal([
      flag[0],
      flag[0],
    ]);
    const rows = await redis
      .pipeline()
      .vadd("v", "FP32", between, "between", "NOQUANT")
      .vadd("v", "FP32", y, "y", "NOQUANT")
      .exec();
    expect(rows).to.deep.equal([
      [null, flag[0]],
      [null, flag[1]],
    ]);
    const query = new Float32Array([1, 0.1, 0]);
    expect(await redis.vsim("v", "FP32", query, "COUNT", 2)).to.deep.equal(["x", "between"]);
    expect(await redis.vsim("v", "FP32", bytesOf(query), "COUNT", 2)).to.deep.equal(["x", "between"]);
    expect(await redis.vsimBuffer("v", "FP32", y, "COUNT", 1)).to.deep.equal([Buffer.from("y")]);
    const reply: unknown = await redis.vsim("v", "FP32", y, "WITHSCORES", "COUNT", 1);
    const [name, score] = Array.isArray(reply)
      ? (reply as unknown[])
      : (Object.entries(reply as object)[0] ?? []);
    expect([name, Math.round(Number(score) * 1000)]).to.deep.equal(["y", 1000]);
  });

  matrix("return the stored bytes", VECTORS, async ({ redis }) => {
    await redis.vadd("v", "FP32", new Float32Array([0.6, 0.8]), "a", "NOQUANT");
    const [form, bytes] = (await redis.vembBuffer("v", "a", "RAW")) as [Buffer, Buffer];
    expect(String(form)).to.equal("f32");
    const stored = new Float32Array(Uint8Array.from(bytes).buffer);
    expect([...stored].map((one) => one.toFixed(3))).to.deep.equal(["0.600", "0.800"]);
    expect(await redis.vdim("v")).to.equal(2);
  });
});
