/**
 * Places in hand-written pages that the suite fills: the text between two comments. The rest of the page does
 * not change. If a page has several places, a word in the comments identifies each.
 */

export const END = "<!-- end of figures -->";

function beginOf(place: string, writer: string): string {
  return `<!-- ${place}: written by npm run ${writer} -->`;
}

/** The page with these figures in the place of that word. */
export function withFigures(page: string, figures: string, place = "figures", writer = "bench"): string {
  const mark = beginOf(place, writer);
  const begin = page.indexOf(mark);
  const end = page.indexOf(END, begin);
  if (begin < 0 || end < begin) throw new Error(`the page has no place for figures: ${mark} ... ${END}`);
  return `${page.slice(0, begin + mark.length)}\n\n${figures}\n\n${page.slice(end)}`;
}

/** The page without what the suite writes: the prose that people write. */
export function withoutFigures(page: string): string {
  return page.replaceAll(/<!-- [\w-]+: written by npm run bench -->[\s\S]*?<!-- end of figures -->/g, "");
}
