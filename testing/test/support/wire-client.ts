/**
 * A client without opinions: sends requests as bytes in one write and gives the replies as typed
 * trees (`["$", "abc"]`, `[":", "1"]`, `["*", […]]`), so that two servers can be compared type by
 * type in both protocols.
 */

import { connect, type NetConnectOpts, type Socket } from "node:net";

/** Type byte and content; pushes have `>`. */
export type ReplyTree = readonly [type: string, content: string | null | readonly ReplyTree[]];

interface Parsed {
  readonly tree: ReplyTree;
  readonly end: number;
}

const AGGREGATES = "*~>%";
const BULKS = "$=!";

/** Null if it is not all there. */
function parse(text: string, start: number): Parsed | null {
  const lineEnd = text.indexOf("\r\n", start);
  if (lineEnd < 0) return null;
  const type = text[start] ?? "";
  const line = text.slice(start + 1, lineEnd);
  const next = lineEnd + 2;
  if (BULKS.includes(type)) {
    const size = Number(line);
    if (size < 0) return { tree: [type, null], end: next };
    const end = next + size + 2;
    return end > text.length ? null : { tree: [type, text.slice(next, next + size)], end };
  }
  if (!AGGREGATES.includes(type)) return { tree: [type, line], end: next };
  const count = Number(line) * (type === "%" ? 2 : 1);
  if (count < 0) return { tree: [type, null], end: next };
  const items: ReplyTree[] = [];
  let at = next;
  for (let index = 0; index < count; index++) {
    const item = parse(text, at);
    if (item === null) return null;
    items.push(item.tree);
    at = item.end;
  }
  return { tree: [type, items], end: at };
}

function encode(args: readonly string[]): string {
  return `*${args.length}\r\n${args.map((arg) => `$${arg.length}\r\n${arg}\r\n`).join("")}`;
}

/** Longer than any command of a program takes, on a busy machine too. */
const SILENCE_MS = 20_000;
/** The silence is counted in steps: a process that was halted for a while has not waited for that while. */
const STEP_MS = 1_000;

/** The connection was closed with replies outstanding, as by a server that crashed. */
export class ServerGone extends Error {
  constructor(readonly answered: number) {
    super(`The server closed the connection behind ${answered} replies`);
  }
}

/** Nothing came for longer than any command takes. */
export class ServerSilent extends Error {
  constructor(readonly answered: number) {
    super(`The server has not answered for ${SILENCE_MS} ms, behind ${answered} replies`);
  }
}

export class WireClient {
  private text = "";
  private readonly replies: ReplyTree[] = [];
  readonly pushes: ReplyTree[] = [];
  private wanted = 0;
  private done: (() => void) | null = null;
  private failed: ((error: Error) => void) | null = null;
  private silence: NodeJS.Timeout | null = null;

  private constructor(private readonly socket: Socket) {
    socket.on("data", (chunk) => this.take(chunk.toString("latin1")));
    socket.on("close", () => this.fail(new ServerGone(this.replies.length)));
    // "close" follows.
    socket.on("error", () => {});
  }

  static connect(target: NetConnectOpts): Promise<WireClient> {
    return new Promise((resolve, reject) => {
      const socket = connect(target, () => resolve(new WireClient(socket)));
      socket.once("error", reject);
    });
  }

  /** Sends all commands in one write and waits for as many replies. Arguments are byte strings. */
  async run(commands: readonly (readonly string[])[]): Promise<ReplyTree[]> {
    const replies = this.expect(commands.length);
    this.socket.write(commands.map(encode).join(""), "latin1");
    return replies;
  }

  /** Waits for as many replies (or pushes of RESP2) as were not asked for. */
  expect(count: number): Promise<ReplyTree[]> {
    this.wanted = count;
    return new Promise((resolve, reject) => {
      this.failed = reject;
      this.done = () => {
        this.rest();
        resolve(this.replies.splice(0, count));
      };
      this.settle();
      if (this.socket.destroyed) this.fail(new ServerGone(this.replies.length));
    });
  }

  close(): Promise<void> {
    if (this.socket.destroyed) return Promise.resolve();
    return new Promise((resolve) => {
      this.socket.once("close", () => resolve());
      this.socket.destroy();
    });
  }

  private take(more: string): void {
    this.text += more;
    let at = 0;
    for (let one = parse(this.text, at); one !== null; one = parse(this.text, at)) {
      if (one.tree[0] === ">") this.pushes.push(one.tree);
      else this.replies.push(one.tree);
      at = one.end;
    }
    this.text = this.text.slice(at);
    this.settle();
  }

  private settle(): void {
    if (this.replies.length >= this.wanted) {
      this.done?.();
      return;
    }
    if (this.failed === null) return;
    if (this.silence !== null) clearInterval(this.silence);
    let waitedMs = 0;
    this.silence = setInterval(() => {
      waitedMs += STEP_MS;
      if (waitedMs >= SILENCE_MS) this.fail(new ServerSilent(this.replies.length));
    }, STEP_MS);
  }

  private fail(error: Error): void {
    const { failed } = this;
    this.rest();
    failed?.(error);
  }

  private rest(): void {
    if (this.silence !== null) clearInterval(this.silence);
    this.silence = null;
    this.done = null;
    this.failed = null;
  }
}
