/**
 * Glob patterns of KEYS, SCAN, PSUBSCRIBE and CONFIG GET: `*`, `?`, `[a-z]`, `[^a]` and `\`.
 */

interface ClassMatch {
  readonly isMatch: boolean;
  readonly end: number;
}

function fold(char: string, ignoreCase: boolean): string {
  return ignoreCase ? char.toLowerCase() : char;
}

/** A `[…]` class; an unclosed one ends with the pattern. */
function matchClass(pattern: string, start: number, char: string, ignoreCase: boolean): ClassMatch {
  let at = start;
  const isNegated = pattern[at] === "^";
  if (isNegated) at++;
  let isFound = false;
  for (; at < pattern.length && pattern[at] !== "]"; at++) {
    if (pattern[at] === "\\" && at + 1 < pattern.length) {
      at++;
      if (fold(pattern[at] ?? "", ignoreCase) === char) isFound = true;
    } else if (pattern[at + 1] === "-" && at + 2 < pattern.length) {
      let low = fold(pattern[at] ?? "", ignoreCase);
      let high = fold(pattern[at + 2] ?? "", ignoreCase);
      if (low > high) [low, high] = [high, low];
      if (char >= low && char <= high) isFound = true;
      at += 2;
    } else if (fold(pattern[at] ?? "", ignoreCase) === char) isFound = true;
  }
  return { isMatch: isFound !== isNegated, end: at };
}

/** Where the pattern goes on after one step that matched `char`, or -1. */
function step(pattern: string, at: number, char: string, ignoreCase: boolean): number {
  const token = pattern[at];
  if (token === "?") return at + 1;
  if (token === "[") {
    const { isMatch, end } = matchClass(pattern, at + 1, char, ignoreCase);
    return isMatch ? Math.min(end + 1, pattern.length) : -1;
  }
  const literal = token === "\\" && at + 1 < pattern.length ? at + 1 : at;
  return fold(pattern[literal] ?? "", ignoreCase) === char ? literal + 1 : -1;
}

export function matchesGlob(pattern: string, text: string, ignoreCase = false): boolean {
  if (pattern === "*") return true;
  let at = 0;
  let position = 0;
  let starAt = -1;
  let starPosition = 0;
  while (position < text.length) {
    if (pattern[at] === "*") {
      starAt = at++;
      starPosition = position;
      continue;
    }
    const next =
      at < pattern.length ? step(pattern, at, fold(text[position] ?? "", ignoreCase), ignoreCase) : -1;
    if (next >= 0) {
      at = next;
      position++;
    } else if (starAt >= 0) {
      at = starAt + 1;
      position = ++starPosition;
    } else return false;
  }
  while (pattern[at] === "*") at++;
  return at >= pattern.length;
}
