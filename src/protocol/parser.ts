import { ReplyError } from "../errors";
import type { ReplySink } from "./reply-sink";

class Need extends Error {}
export class Parser {
  private buf: Buffer = Buffer.alloc(0);
  private slab = Buffer.alloc(65536);
  private stopped = false;
  private pos = 0;
  private flags = 0;
  constructor(private sink: ReplySink) {}
  reserve() {
    return this.slab;
  }
  commit(n: number) {
    this.push(Buffer.from(this.slab.subarray(0, n)));
  }
  stop() {
    this.stopped = true;
  }
  push(c: Buffer) {
    this.buf = this.buf.length ? Buffer.concat([this.buf, c]) : c;
    this.pos = 0;
    let done = 0;
    while (!this.stopped && this.pos < this.buf.length) {
      try {
        const t = this.buf[this.pos]!;
        this.flags = t === 62 ? 1 : this.sink.nextDecoding();
        const v = this.value();
        done = this.pos;
        if (t === 62) this.sink.onPush(v);
        else if (v instanceof ReplyError) this.sink.onErrorReply(v);
        else this.sink.onReply(v);
      } catch (e) {
        if (!(e instanceof Need)) throw e;
        break;
      }
    }
    this.buf = this.buf.subarray(done);
  }
  private line(): string {
    const e = this.buf.indexOf("\r\n", this.pos);
    if (e < 0) throw new Need();
    const s = this.buf.toString("utf8", this.pos, e);
    this.pos = e + 2;
    return s;
  }
  private value(): any {
    const l = this.line();
    const r = l.slice(1);
    const str = (b: Buffer) => (this.flags & 1 ? Buffer.from(b) : b.toString());
    switch (l[0]) {
      case "+":
        return str(Buffer.from(r));
      case "-":
        return new ReplyError(r);
      case ":":
        return this.flags & 2 ? r : Number(r);
      case "_":
        return null;
      case ",":
        return this.flags & 4 ? Number(r) : r;
      case "#":
        return this.flags & 4 ? r === "t" : r === "t" ? 1 : 0;
      case "(":
        return r;
      case "$":
      case "=":
      case "!": {
        const n = Number(r);
        if (n < 0) return null;
        if (this.buf.length < this.pos + n + 2) throw new Need();
        let b = this.buf.subarray(this.pos, this.pos + n);
        this.pos += n + 2;
        if (l[0] === "=") b = b.subarray(4);
        return l[0] === "!" ? new ReplyError(b.toString()) : str(b);
      }
      case "*":
      case "~":
      case ">": {
        const n = Number(r);
        if (n < 0) return null;
        const a = [];
        for (let i = 0; i < n; i++) a.push(this.value());
        return a;
      }
      case "%": {
        const n = Number(r);
        if (this.flags & 4) {
          const o: any = {};
          for (let i = 0; i < n; i++) {
            const k = this.value();
            o[String(k)] = this.value();
          }
          return o;
        }
        const a = [];
        for (let i = 0; i < 2 * n; i++) a.push(this.value());
        return a;
      }
    }
    throw new Error(`bad ${l}`);
  }
}
