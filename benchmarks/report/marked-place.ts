/**
 * Places of hand-written pages that the suite fills: a table between two comments. Everything else of the page stays.
 */

export const BEGIN = "<!-- figures: written by npm run bench -->";
export const END = "<!-- end of figures -->";

/** The page with these figures in their place. */
export function withFigures(page: string, figures: string): string {
  const begin = page.indexOf(BEGIN);
  const end = page.indexOf(END);
  if (begin < 0 || end < begin) throw new Error(`the page has no place for figures: ${BEGIN} ... ${END}`);
  return `${page.slice(0, begin + BEGIN.length)}\n\n${figures}\n\n${page.slice(end)}`;
}
