/** The site: pages are assembled by scripts/site into build/site/pages, the result is build/site/dist. */

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";

const site = dirname(dirname(fileURLToPath(import.meta.url)));
const work = join(site, "..", "build", "site");
const { version, navigation } = JSON.parse(readFileSync(join(work, "site.json"), "utf8"));

/** Three commands in one write. */
const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M2 4h9M2 8h12M2 12h9" stroke="#d55e00" stroke-width="2.5" stroke-linecap="round"/></svg>',
)}`;

export default defineConfig({
  title: "sluice",
  description: "A fast Redis and Valkey client for Node.js with the ioredis API",
  srcDir: join(work, "pages"),
  outDir: join(work, "dist"),
  cacheDir: join(work, "cache"),
  lang: "en",
  // Browsers ask for a favicon.ico at the root of the host otherwise.
  head: [["link", { rel: "icon", href: ICON }]],
  cleanUrls: false,
  lastUpdated: false,
  markdown: {
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    // Paths, codes and options wrap between their parts instead of inside a word, above all in tables.
    config: (markdown) => {
      const render = markdown.renderer.rules.code_inline;
      markdown.renderer.rules.code_inline = (...rendering) =>
        render(...rendering).replace(/>[^<]+</g, (text) =>
          text.replace(/(?:[/_=(-]|\.(?!\d))+(?=\w)/g, "$&<wbr>"),
        );
    },
  },
  vite: { publicDir: join(work, "public"), build: { chunkSizeWarningLimit: 4000 } },
  themeConfig: {
    nav: [
      { text: "Guide", link: "/guide" },
      { text: "Playground", link: "/playground" },
      { text: "Commands", link: "/commands" },
      { text: "Options", link: "/options" },
      { text: "Errors", link: "/errors" },
      { text: `v${version} (not released)`, link: "/changelog" },
    ],
    sidebar: navigation,
    outline: { level: [2, 3] },
    search: {
      provider: "local",
      options: {
        detailedView: true,
        miniSearch: {
          searchOptions: {
            // Reference pages hold every word; guides answer more questions. A command's own page comes first.
            // VitePress sends the text of this function to the browser: it uses nothing from outside.
            boostDocument: (id: string, term: string) => {
              if (id.includes(`/commands/${term}.`)) return 2;
              const isReference =
                /\/commands\/|testing-commands|benchmark-record|changelog|decisions|differences|readme|examples|api|architecture/;
              if (isReference.test(id)) return 0.2;
              // A page named after the term: `locks` for "lock".
              if ([term, `${term}s`].some((name) => id.includes(`/${name}.`))) return 4;
              if (/\/options/.test(id)) return 3;
              return /connecting|getting|pipelining|production|recipes|streams|troubleshooting/.test(id)
                ? 2
                : 1;
            },
          },
        },
      },
    },
  },
});
