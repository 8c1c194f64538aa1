/**
 * A stream: entries in order of their ids, and consumer groups.
 */

export class StreamValue {
  readonly type = "stream";
  readonly size = 1;

  clone(): StreamValue {
    return new StreamValue();
  }
}
