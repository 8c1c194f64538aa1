/**
 * The built site in a real browser: links, search, phone width, accessibility, nothing on the console. Run by
 * `npm run test:site`, which builds the site first. Chromium is that of the machine (`CHROMIUM` names another one).
 */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join } from "node:path";
import { expect } from "chai";
import { checkout } from "../../scripts/run-command.mjs";

const dist = join(checkout, "build", "site", "dist");
const require = createRequire(join(checkout, "site", "package.json"));
const { default: playwright } = await import(require.resolve("playwright-core"));
const axeSource = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const BROWSERS = [
  process.env.CHROMIUM,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
];
const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".json": "application/json",
  ".wasm": "application/wasm",
  ".txt": "text/plain",
  ".woff2": "font/woff2",
};
/** Every page, but only one each of the commands, examples and decisions. */
const PAGES = [...readSite().keys()]
  .map((path) => path.slice(1))
  .filter((path) => !/^(?:404|(?:commands|examples|decisions)\/)/.test(path))
  .concat("commands/zadd.html", "examples/index.html", "decisions/0016-coalesce-and-merge.html");
/** Their tables have a column for each runtime or figure, so they scroll on a desktop too. */
const WIDE = ["benchmark-record.html", "platforms.html"];
const PHONE = { width: 375, height: 740 };
const DESKTOP = { width: 1280, height: 800 };

function startServer() {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://site").pathname);
    // Every browser asks for one, no page names it.
    if (path === "/favicon.ico") {
      response.writeHead(204).end();
      return;
    }
    const file = join(dist, path.endsWith("/") ? `${path}index.html` : path);
    if (!file.startsWith(dist) || !existsSync(file)) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" });
    response.end(readFileSync(file));
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

/** Ids and links of every page, read from the files. */
function readSite() {
  const pages = new Map();
  for (const name of readdirSync(dist, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".html")) continue;
    const html = readFileSync(join(dist, name), "utf8");
    const ids = new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => decodeURIComponent(id)));
    const links = [...html.matchAll(/<a [^>]*href="([^"]+)"/g)].map(([, href]) =>
      href.replaceAll("&amp;", "&"),
    );
    pages.set(`/${name}`, { ids, links });
  }
  return pages;
}

function brokenLinks(pages) {
  const broken = [];
  for (const [page, { links }] of pages) {
    for (const link of links) {
      if (/^(https?|mailto):/.test(link)) continue;
      const url = new URL(link, `http://site${page}`);
      let path = decodeURIComponent(url.pathname);
      if (path.endsWith("/")) path += "index.html";
      const target = pages.get(path) ?? pages.get(`${path}.html`);
      const anchor = decodeURIComponent(url.hash.slice(1));
      const isThere = target !== undefined || existsSync(join(dist, path));
      if (!isThere || (anchor !== "" && target !== undefined && !target.ids.has(anchor)))
        broken.push(`${page}: ${link}`);
    }
  }
  return broken;
}

describe("the site", function () {
  this.timeout(120_000);
  let server;
  let browser;
  let origin;

  before(async () => {
    const executablePath = BROWSERS.find((path) => path !== undefined && existsSync(path));
    if (executablePath === undefined) {
      throw new Error("No Chromium found: install the package `chromium`, or name one by CHROMIUM");
    }
    server = await startServer();
    origin = `http://127.0.0.1:${server.address().port}`;
    browser = await playwright.chromium.launch({ executablePath, args: FLAGS });
  });

  after(async () => {
    await browser?.close();
    server?.close();
  });

  async function open(path, viewport = DESKTOP) {
    const page = await browser.newPage({ viewport });
    const complaints = [];
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(error.message));
    await page.goto(`${origin}/${path}`, { waitUntil: "networkidle" });
    return { page, complaints };
  }

  it("has no broken link and no broken anchor", () => {
    const pages = readSite();
    expect(pages.size).to.be.greaterThan(300);
    expect(brokenLinks(pages)).to.deep.equal([]);
  });

  for (const path of PAGES) {
    it(`${path}: nothing on the console, readable on a phone, accessible`, async () => {
      const { page, complaints } = await open(path, PHONE);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      expect(overflow, "pixels wider than the phone").to.be.at.most(0);
      await page.evaluate(axeSource);
      const { violations } = await page.evaluate(() =>
        globalThis.axe.run(document.querySelector(".vp-doc") ?? document, { resultTypes: ["violations"] }),
      );
      const serious = violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, nodes }) => `${id}: ${nodes[0].html}`);
      expect(serious).to.deep.equal([]);
      expect(complaints).to.deep.equal([]);
      await page.close();
    });
  }

  it("the search finds an error code and opens its page", async () => {
    const { page } = await open("index.html");
    await page.keyboard.press("Control+k");
    await page.waitForSelector(".VPLocalSearchBox input");
    await page.fill(".VPLocalSearchBox input", "OUTCOME_UNKNOWN");
    await page.waitForSelector(".VPLocalSearchBox .result");
    const targets = await page.$$eval(".VPLocalSearchBox .result", (all) =>
      all.map((one) => one.getAttribute("href")),
    );
    expect(targets.some((target) => target.includes("errors"))).to.equal(true);
    await page.close();
  });

  /** Answers that a reader looks for, by the question. */
  const SEARCHES = [
    ["retry strategy", /connecting|options.*(?:connecting|queues)|recipes/],
    ["max retries per request", /options|connecting|errors|troubleshooting/],
    ["graceful shutdown", /recipes|production/],
    ["consumer group", /streams/],
    ["zadd", /zadd|commands/],
    ["timeout", /timeouts/],
    ["tls", /tls/],
    ["sentinel password", /sentinel|options/],
    ["json", /modules/],
    ["lock", /\/locks/],
    ["connection pool", /production|connecting|leases/],
    ["pool", /production|leases/],
    ["get", /commands\/get/],
    ["cluster", /\/cluster/],
  ];
  for (const [words, wanted] of SEARCHES) {
    it(`the search for "${words}" shows a page that answers it first`, async () => {
      const { page } = await open("index.html");
      await page.keyboard.press("Control+k");
      await page.waitForSelector(".VPLocalSearchBox input");
      await page.fill(".VPLocalSearchBox input", words);
      await page.waitForSelector(".VPLocalSearchBox .result");
      const first = await page.getAttribute(".VPLocalSearchBox .result >> nth=0", "href");
      expect(first).to.match(wanted);
      await page.close();
    });
  }

  it("the landing page leads to the first steps and the playground", async () => {
    const { page } = await open("index.html");
    const links = await page.$$eval(".VPHero .action a", (all) => all.map((one) => one.getAttribute("href")));
    expect(links.map((link) => link.replace(/^.*\//, "").replace(".html", ""))).to.deep.equal([
      "getting-started",
      "moving-from-ioredis",
      "moving-from-node-redis",
      "playground",
    ]);
    await page.close();
  });

  for (const path of PAGES.filter((one) => !WIDE.includes(one))) {
    it(`${path}: no column is cut off on a desktop`, async () => {
      const { page } = await open(path);
      const cut = await page.$$eval(".vp-doc table", (all) =>
        all
          .filter((table) => table.scrollWidth > table.clientWidth + 1)
          .map((table) => table.innerText.slice(0, 60)),
      );
      expect(cut).to.deep.equal([]);
      await page.close();
    });
  }

  it("pictures keep a readable size on a phone", async () => {
    const { page } = await open("benchmarks.html", PHONE);
    const widths = await page.$$eval(".vp-doc img", (all) =>
      all.filter((one) => one.offsetParent !== null).map((one) => one.getBoundingClientRect().width),
    );
    expect(widths).to.have.length.above(2);
    expect(Math.min(...widths)).to.be.at.least(600);
    await page.close();
  });

  it("the demonstration steps through the recorded writes", async () => {
    const { page, complaints } = await open("writes.html");
    const count = () => page.textContent(".recorded-writes .count");
    const boxes = () => page.$$eval(".recorded-writes li", (all) => all.map((one) => one.className));
    expect(await boxes()).to.deep.equal([]);
    await page.click(".recorded-writes button:has-text('Step')");
    expect(await boxes()).to.deep.equal(["client"]);
    await page.click(".recorded-writes button:has-text('All')");
    expect(await count()).to.equal("3 writes");
    await page.selectOption(".recorded-writes select", { label: "An explicit pipeline" });
    expect(await boxes()).to.deep.equal([]);
    await page.click(".recorded-writes button:has-text('Play')");
    await page.waitForFunction(() => document.querySelectorAll(".recorded-writes li.server").length === 1);
    expect(await count()).to.equal("1 write");
    expect(await page.textContent(".recorded-writes li.client")).to.include("incr a");
    expect(complaints).to.deep.equal([]);
    await page.close();
  });

  describe("the playground", () => {
    const WRITES = ".playground li.write";
    let page;
    let complaints;

    before(async () => {
      ({ page, complaints } = await open("playground.html"));
      await page.waitForSelector(".cm-content");
    });
    after(() => page.close());

    async function run(state = "done") {
      await page.click(".playground .run");
      await page.waitForFunction(
        (word) => document.querySelector(".playground .state").textContent === word,
        state,
      );
    }
    const texts = (selector) => page.$$eval(selector, (all) => all.map((one) => one.textContent.trim()));
    async function type(code) {
      await page.click(".cm-content");
      await page.keyboard.press("Control+a");
      await page.keyboard.insertText(code);
    }

    it("runs every program that it offers, and none of them fails", async () => {
      const titles = await texts(".playground select >> nth=0 >> option");
      expect(titles.length).to.be.greaterThan(6);
      for (const label of titles) {
        await page.selectOption(".playground select >> nth=0", { label });
        await run();
        expect(await texts(".playground li.failed"), label).to.deep.equal([]);
        const writes = await page.locator(WRITES).count();
        expect(writes > 0 || label.includes("out of memory"), label).to.equal(true);
      }
      expect(complaints).to.deep.equal([]);
    });

    it("runs the typed program, and shows each write, its bytes and its replies", async () => {
      await page.selectOption(".playground select >> nth=1", { label: "one" });
      await type('console.log(await Promise.all([redis.set("mine", 1), redis.incr("mine")]));');
      await run();
      expect(await texts(`${WRITES} > code`)).to.deep.equal(["set mine 1", "incr mine"]);
      expect(await page.locator(WRITES).count()).to.equal(1);
      const resp = await page.textContent(`${WRITES} details code`);
      expect(resp).to.include("*2\\r\\n$4\\r\\nincr\\r\\n$4\\r\\nmine\\r\\n");
      expect(await texts(".playground li.reply code")).to.deep.equal(["+OK\\r\\n:2\\r\\n"]);
      expect(await texts(".playground li.print code")).to.deep.equal(['["OK", 2]']);
      expect(await page.textContent(".playground .summary")).to.include("1 write, 2 commands");
    });

    it("a pipeline on a cluster is a write for each node", async () => {
      await page.selectOption(".playground select >> nth=1", { label: "cluster of 3" });
      await type('await redis.pipeline().set("a", 1).set("b", 2).set("c", 3).exec();');
      await run();
      expect(await page.locator(WRITES).count()).to.equal(3);
      expect((await texts(".playground li.batch")).join()).to.include("divided among 3 nodes");
    });

    it("reports the error of a program", async () => {
      await type("syntax error(");
      await run();
      expect((await texts(".playground li.failed code")).join()).to.include("SyntaxError");
      await type('await redis.incr("a", "b");');
      await run();
      expect((await texts(".playground li.failed code")).join()).to.include("wrong number of arguments");
    });

    it("stops an endless program, and the page still works", async () => {
      await type("for (;;) {}");
      await run("running");
      await page.click(".playground button:has-text('Stop')");
      await type("await redis.ping();");
      await run();
      expect(await texts(`${WRITES} > code`)).to.deep.equal(["ping"]);
      expect(complaints).to.deep.equal([]);
    });
  });

  it("pictures follow the switch between light and dark", async () => {
    const { page } = await open("benchmarks.html");
    const shown = () =>
      page.$$eval(".vp-doc img", (all) =>
        all.filter((one) => one.offsetParent !== null).map((one) => one.className),
      );
    expect(new Set(await shown())).to.deep.equal(new Set(["for-light"]));
    await page.evaluate(() => document.documentElement.classList.add("dark"));
    expect(new Set(await shown())).to.deep.equal(new Set(["for-dark"]));
    await page.close();
  });
});
