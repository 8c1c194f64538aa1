/**
 * The reply to INFO. The text has some kilobytes, of which few fields are needed, so fields are looked up on
 * demand. A substring keeps the whole text in memory, so fields to be kept are copied.
 */

export class ServerInfo {
  constructor(private readonly text: string) {}

  /** Undefined if the field is missing. */
  field(name: string): string | undefined {
    const { text } = this;
    const line = `${name}:`;
    const lineEnd = text.indexOf(`\n${line}`);
    if (lineEnd < 0 && !text.startsWith(line)) return undefined;
    const start = lineEnd + 1 + line.length;
    const end = text.indexOf("\r\n", start);
    return text.slice(start, end < 0 ? undefined : end);
  }

  /** Like `field`, as a copy that may outlive the reply. */
  kept(name: string): string | undefined {
    const value = this.field(name);
    return value === undefined ? undefined : Buffer.from(value).toString();
  }

  /** All fields. */
  fields(): Record<string, string> {
    const info: Record<string, string> = Object.create(null);
    for (const line of this.text.split("\r\n")) {
      const colon = line.indexOf(":");
      if (colon > 0) info[line.slice(0, colon)] = line.slice(colon + 1);
    }
    return info;
  }
}
