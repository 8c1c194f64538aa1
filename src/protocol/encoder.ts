import type { OutputBuffer } from "./output-buffer";
export function encodeCommand(out: OutputBuffer, name: Buffer, args: readonly (string | Buffer)[]): void {
  const add = (b: Buffer) => {
    out.parts.push(b);
    out.length += b.length;
  };
  add(Buffer.from(`*${args.length + 1}\r\n`));
  add(name);
  for (const a of args) {
    const b = Buffer.from(a as string);
    add(Buffer.from(`$${b.length}\r\n`));
    add(b);
    add(Buffer.from("\r\n"));
  }
}
