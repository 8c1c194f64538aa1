/**
 * The longest common subsequence of two byte strings, and the ranges it is made of, from the end
 * to the start as LCS IDX gives them.
 */

export interface Match {
  readonly a: number;
  readonly b: number;
  readonly length: number;
}

function lengths(a: string, b: string): Uint32Array {
  const width = b.length + 1;
  const table = new Uint32Array((a.length + 1) * width);
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const place = i * width + j;
      if (a[i - 1] === b[j - 1]) table[place] = (table[place - width - 1] ?? 0) + 1;
      else table[place] = Math.max(table[place - width] ?? 0, table[place - 1] ?? 0);
    }
  }
  return table;
}

export function longestCommonSubsequence(a: string, b: string): { text: string; matches: Match[] } {
  const width = b.length + 1;
  const table = lengths(a, b);
  const matches: Match[] = [];
  let text = "";
  let i = a.length;
  let j = b.length;
  let length = 0;
  const close = (): void => {
    if (length > 0) matches.push({ a: i, b: j, length });
    length = 0;
  };
  while (i > 0 && j > 0) {
    if (a[i - 1] === b[j - 1]) {
      text = (a[i - 1] ?? "") + text;
      i--;
      j--;
      length++;
      continue;
    }
    close();
    if ((table[(i - 1) * width + j] ?? 0) > (table[i * width + j - 1] ?? 0)) i--;
    else j--;
  }
  close();
  return { text, matches };
}
