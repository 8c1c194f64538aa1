/**
 * The answer of a server to INFO. The text is some kilobytes long and a few of its fields are of
 * interest: those are looked up. A piece of a text keeps the whole of it alive, so that one to be kept is copied.
 */

export class ServerInfo {
  constructor(private readonly text: string) {}

  /** Undefined if there is no such line. */
  field(name: string): string | undefined {
    const { text } = this;
    const line = `${name}:`;
    const lineEnd = text.indexOf(`\n${line}`);
    if (lineEnd < 0 && !text.startsWith(line)) return undefined;
    const start = lineEnd + 1 + line.length;
    const end = text.indexOf("\r\n", start);
    return text.slice(start, end < 0 ? undefined : end);
  }

  /** As `field`, to be kept for longer than the answer. */
  kept(name: string): string | undefined {
    const value = this.field(name);
    return value === undefined ? undefined : Buffer.from(value).toString();
  }

  /** All of it. */
  fields(): Record<string, string> {
    const info: Record<string, string> = Object.create(null);
    for (const line of this.text.split("\r\n")) {
      const colon = line.indexOf(":");
      if (colon > 0) info[line.slice(0, colon)] = line.slice(colon + 1);
    }
    return info;
  }
}
