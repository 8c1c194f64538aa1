/**
 * Commands as a grammar, one line each, from which random commands are made:
 *
 *   set $key $value [(NX|XX)] [GET] [(EX $ttl|KEEPTTL)]
 *
 * `[…]` may be left out, `(a|b)` is one of them, `{…}` comes one to three times, `$name` is a
 * random argument of a kind, everything else stands for itself.
 */

import fc from "fast-check";

type Words = fc.Arbitrary<readonly string[]>;
export type Kinds = Readonly<Record<string, fc.Arbitrary<string | readonly string[]>>>;

class Reader {
  private at = 0;
  private readonly tokens: readonly string[];

  constructor(
    line: string,
    private readonly kinds: Kinds,
  ) {
    this.tokens = line.match(/[[\](){}|]|[^\s[\](){}|]+/g) ?? [];
  }

  sequence(end: string | null): Words {
    const parts: Words[] = [];
    while (this.at < this.tokens.length && this.tokens[this.at] !== end && this.tokens[this.at] !== "|") {
      parts.push(this.part());
    }
    return fc.tuple(...parts).map((all) => all.flat());
  }

  private part(): Words {
    const token = this.tokens[this.at++] ?? "";
    if (token === "[") {
      const inner = this.closed("]");
      return fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: inner });
    }
    if (token === "{") {
      return fc.array(this.closed("}"), { minLength: 1, maxLength: 3 }).map((all) => all.flat());
    }
    if (token === "(") return this.alternatives();
    if (!token.startsWith("$")) return fc.constant([token]);
    const kind = this.kinds[token.slice(1)];
    if (kind === undefined) throw new Error(`The grammar has no kind ${token}`);
    return kind.map((value) => (typeof value === "string" ? [value] : value));
  }

  private closed(end: string): Words {
    const inner = this.sequence(end);
    this.at++;
    return inner;
  }

  private alternatives(): Words {
    const choices: Words[] = [];
    while (true) {
      choices.push(this.sequence(")"));
      if (this.tokens[this.at++] !== "|") return fc.oneof(...choices);
    }
  }
}

export function commandArbitrary(line: string, kinds: Kinds): Words {
  return new Reader(line, kinds).sequence(null);
}
