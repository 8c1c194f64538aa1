/** The fields of the reply to INFO. */

export class ServerInfo {
  readonly fields: Record<string, string> = Object.create(null);

  constructor(text: string) {
    for (const line of text.split("\r\n")) {
      const colon = line.indexOf(":");
      if (colon > 0) this.fields[line.slice(0, colon)] = line.slice(colon + 1);
    }
  }

  /** A field that may outlive the reply: a copy, because a substring keeps the whole text in memory. */
  kept(name: string): string | undefined {
    const value = this.fields[name];
    return value === undefined ? undefined : Buffer.from(value).toString();
  }
}
