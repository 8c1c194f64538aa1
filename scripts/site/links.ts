/**
 * Rewrites Markdown of the project as a page of the site. Links lead to pages of the site, and links to other files
 * become text. Pictures in two colors follow the switch of the site. Angle brackets in running text are escaped.
 */

import path from "node:path";

export interface Place {
  /** Of this page on the site. */
  readonly page: string;
  /** From the root of the project. */
  readonly source: string;
  /** Page on the site by source. */
  readonly places: ReadonlyMap<string, string>;
}

const LINK = /(!?)\[([^\]]*)\]\(([^()\s]+)\)/g;
const PICTURE = /<picture>[\s\S]*?<\/picture>/g;
/** Fenced blocks and code in a line stay as they are. */
const CODE = /```[\s\S]*?```|`[^`\n]*`/g;

export function rewritePage(text: string, place: Place): string {
  const kept: string[] = [];
  const held = text
    .replaceAll(PICTURE, (picture) => bothPictures(picture, place))
    .replaceAll(CODE, (code) => `\u0000${kept.push(code) - 1}\u0000`);
  return rewriteText(held, place).replaceAll(
    /\0(\d+)\0/g,
    (_, index: string) => kept[Number(index)] as string,
  );
}

function rewriteText(text: string, place: Place): string {
  return text
    .replaceAll(LINK, (whole, mark: string, label: string, target: string) => {
      if (/^(https?:|mailto:)/.test(target)) return whole;
      if (target.startsWith("#")) return `[${label}](#${anchorOf(target.slice(1))})`;
      if (mark === "!") return `![${label}](${imageOf(target, place)})`;
      const found = pageOf(target, place);
      return found === null ? label : `[${label}](${found})`;
    })
    .replaceAll(/<(?!\/?(?:img|a|details|summary|sub|br|p|div|picture|source)\b|!--)/g, "&lt;");
}

/** The target from here; null when the site has no such page. */
function pageOf(target: string, { page, source, places }: Place): string | null {
  const [file = "", anchor] = target.split("#");
  const wanted = path.posix.join(path.posix.dirname(source), file);
  const found = places.get(wanted) ?? folderPage(wanted);
  if (found === null) return null;
  const from = path.posix.relative(path.posix.dirname(page), found);
  return `${from.startsWith(".") ? from : `./${from}`}${anchor === undefined ? "" : `#${anchorOf(anchor)}`}`;
}

/** VitePress puts `_` before the id of a heading that begins with a digit; GitHub does not. */
function anchorOf(anchor: string): string {
  return anchor.replace(/^(?=\d)/, "_");
}

function folderPage(wanted: string): string | null {
  if (/^examples\/[\w.-]+\.m?[jt]s$/.test(wanted)) return `${wanted.replaceAll(".", "-")}.md`;
  if (/^examples\/?$/.test(wanted)) return "examples/index.md";
  if (/^docs\/decisions\/?$/.test(wanted)) return "decisions/index.md";
  return null;
}

function imageOf(target: string, { page, source }: Place): string {
  const wanted = path.posix.join(path.posix.dirname(source), target).replace(/^docs\//, "");
  const from = path.posix.relative(path.posix.dirname(page), wanted);
  return from.startsWith(".") ? from : `./${from}`;
}

function bothPictures(picture: string, place: Place): string {
  const alt = /alt="([^"]*)"/.exec(picture)?.[1] ?? "";
  const dark = /srcset="([^"]*)"/.exec(picture)?.[1] ?? "";
  const light = / src="([^"]*)"/.exec(picture)?.[1] ?? "";
  const tag = (file: string, name: string): string =>
    `<img class="${name}" alt="${alt}" src="${imageOf(file, place)}">`;
  return `<p class="picture" tabindex="0">\n${tag(light, "for-light")}\n${tag(dark, "for-dark")}\n</p>`;
}
