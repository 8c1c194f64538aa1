/**
 * Code that only some programs need. Node loads it when an option or a call asks for it. The ES modules for bundlers
 * load nothing: a module of `src/with` provides the part, and without that module `get` throws.
 */

import { MissingPartError } from "../errors";

export class LatePart<Part extends object> {
  private part: Part | null = null;

  /**
   * @param name The module `sluice/with/...` that provides the part.
   * @param load Contains the `require` for Node. In the ES modules it returns null.
   */
  constructor(
    private readonly name: string,
    private readonly load: () => Part | null,
  ) {}

  /** Throws a `MissingPartError` in a bundle without the part. */
  get(): Part {
    const part = this.find();
    if (part === null) throw new MissingPartError(this.name);
    return part;
  }

  /** Null in a bundle without the part. */
  find(): Part | null {
    this.part ??= this.load();
    return this.part;
  }

  provide(part: Part): void {
    this.part = part;
  }
}
