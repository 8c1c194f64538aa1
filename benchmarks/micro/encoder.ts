/**
 * Encoder and output buffer alone, in flushes as a connection makes them: `node
 * build/benchmarks/micro/encoder.js [word]`. Nanoseconds and heap bytes per command.
 */

import { encodeCommand } from "../../src/protocol/encoder";
import { OutputBuffer, releaseFlush } from "../../src/protocol/output-buffer";
import type { Argument } from "../../src/protocol/resp-types";
import { report } from "./measure";

const word = process.argv[2] ?? "";
const SET = Buffer.from("$3\r\nset\r\n");
const HIGH_WATER_BYTES = 64 * 1024;

function run(title: string, commands: readonly (readonly Argument[])[]): void {
  if (!title.includes(word)) return;
  const out = new OutputBuffer();
  report(title, commands.length, () => {
    for (let i = 0; i < commands.length; i++) {
      encodeCommand(out, SET, commands[i]!);
      if (out.length >= HIGH_WATER_BYTES) releaseFlush(out.take());
    }
    releaseFlush(out.take());
  });
}

function many(count: number, make: (index: number) => readonly Argument[]): (readonly Argument[])[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

const value16 = "0123456789abcdef";
run(
  "SET 9 B, 16 B x 1000",
  many(1000, (i) => [`key:${10_000 + i}`, value16]),
);
run(
  "SET 9 B, 16 B x 1",
  many(1, () => ["key:12345", value16]),
);
run(
  "GET 9 B x 1000",
  many(1000, (i) => [`key:${10_000 + i}`]),
);
run(
  "SET 9 B, 16 B not ASCII x 1000",
  many(1000, (i) => [`key:${10_000 + i}`, "äbcdefghijklmno"]),
);
for (const size of [24, 32, 40, 48, 64, 128, 256, 1024, 4096]) {
  run(
    `SET 9 B, ${size} B string x 500`,
    many(500, () => ["key:12345", "x".repeat(size)]),
  );
}
for (const size of [16, 32, 64, 256, 1024, 4096, 8191, 8192, 16_384]) {
  run(
    `SET 9 B, ${size} B Buffer x 500`,
    many(500, () => ["key:12345", Buffer.alloc(size, 1)]),
  );
}
for (const size of [16, 64, 256, 1024]) {
  run(
    `SET ${size} KiB string x 8`,
    many(8, () => ["key:12345", "x".repeat(size * 1024)]),
  );
}
run(
  "SET 1024 KiB Buffer x 8",
  many(8, () => ["key:12345", Buffer.alloc(1024 * 1024, 1)]),
);
run(
  "MSET 2000 arguments",
  many(1, () => Array.from({ length: 2000 }, (_, i) => `key:${10_000 + i}`)),
);
