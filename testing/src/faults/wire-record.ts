/**
 * The traffic over a wire towards a server: the commands, and which of them shared a write.
 */

import { toText } from "../protocol/numbers";
import { RequestError, RequestParser } from "../protocol/request-parser";

export type RecordedCommand = readonly string[];

export class WireRecord {
  /** A list for each piece as it was read, nearly one for each write of the client. */
  readonly writes: RecordedCommand[][] = [];
  private readonly parsers = new WeakMap<object, RequestParser>();

  get commands(): RecordedCommand[] {
    return this.writes.flat();
  }

  clear(): void {
    this.writes.length = 0;
  }

  /** A piece of a connection; a command counts where its last byte came. */
  add(connection: object, chunk: Buffer): void {
    let parser = this.parsers.get(connection);
    if (parser === undefined) {
      parser = new RequestParser();
      this.parsers.set(connection, parser);
    }
    parser.push(chunk);
    const commands: RecordedCommand[] = [];
    try {
      for (let args = parser.next(); args !== null; args = parser.next()) {
        if (args.length > 0) commands.push(args.map(toText));
      }
    } catch (error) {
      // Bytes that are no request, or that a fault has altered, are no commands.
      if (!(error instanceof RequestError)) throw error;
      this.parsers.delete(connection);
    }
    if (commands.length > 0) this.writes.push(commands);
  }
}
