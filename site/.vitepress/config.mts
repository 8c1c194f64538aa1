/** The site: pages are assembled by scripts/site into build/site/pages, the result is build/site/dist. */

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";

const site = dirname(dirname(fileURLToPath(import.meta.url)));
const work = join(site, "..", "build", "site");
const { version, navigation } = JSON.parse(readFileSync(join(work, "site.json"), "utf8"));

export default defineConfig({
  title: "sluice",
  description: "Redis and Valkey client for Node.js: the ioredis API, pipelined all the way down",
  srcDir: join(work, "pages"),
  outDir: join(work, "dist"),
  cacheDir: join(work, "cache"),
  lang: "en",
  cleanUrls: false,
  lastUpdated: false,
  markdown: { theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" } },
  vite: { publicDir: join(work, "public"), build: { chunkSizeWarningLimit: 4000 } },
  themeConfig: {
    nav: [
      { text: "Guide", link: "/guide" },
      { text: "Playground", link: "/playground" },
      { text: "Commands", link: "/commands" },
      { text: "Options", link: "/options" },
      { text: "Errors", link: "/errors" },
      { text: `v${version}`, link: "/changelog" },
    ],
    sidebar: navigation,
    outline: { level: [2, 3] },
    search: { provider: "local", options: { detailedView: true } },
  },
});
