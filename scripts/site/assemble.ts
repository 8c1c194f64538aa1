/**
 * Assembles the pages of the site in build/site/pages: the Markdown of the project with adapted links, a page for each
 * command and example, and the files for language models. All text comes from files of the project.
 */

import fs from "node:fs";
import path from "node:path";
import { readSnapshots, repositoryRoot } from "../commands/snapshot";
import { buildTable } from "../commands/table-rows";
import { commandExamples } from "./command-examples";
import { commandPages, type Page } from "./command-pages";
import { rewritePage } from "./links";
import { PLAYGROUND_PROGRAMS } from "./playground-programs";
import { type Recording, recordings } from "./recorded-writes";

const root = repositoryRoot();
const work = path.join(root, "build", "site");

/** Pages outside of docs/, by the name that they have on the site. */
const OTHERS: readonly (readonly [source: string, page: string])[] = [
  ["site/landing.md", "index.md"],
  ["README.md", "readme.md"],
  ["CHANGELOG.md", "changelog.md"],
  ["CONTRIBUTING.md", "contributing.md"],
  ["SECURITY.md", "security.md"],
  ["benchmarks/README.md", "benchmark-record.md"],
];

interface Group {
  readonly text: string;
  readonly items: readonly { readonly text: string; readonly link: string }[];
  readonly collapsed?: boolean;
}

/** Source path of every Markdown page, by its place on the site. */
function sourcePages(): Map<string, string> {
  const pages = new Map<string, string>();
  for (const name of fs.readdirSync(path.join(root, "docs"), { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".md")) continue;
    pages.set(name === "README.md" ? "guide.md" : name.split(path.sep).join("/"), path.join("docs", name));
  }
  const testKit = path.join("testing", "docs");
  for (const name of fs.readdirSync(path.join(root, testKit))) pages.set(name, path.join(testKit, name));
  for (const [source, page] of OTHERS) if (fs.existsSync(path.join(root, source))) pages.set(page, source);
  return pages;
}

function decisionIndex(pages: ReadonlyMap<string, string>): Page {
  const lines = [...pages]
    .filter(([page]) => page.startsWith("decisions/"))
    .sort()
    .map(([page, source]) => `- [${titleOf(read(source))}](${page.slice("decisions/".length)})`);
  return {
    path: "decisions/index.md",
    content: `# Decisions\n\nMeasurements, choices and their reasons.\n\n${lines.join("\n")}\n`,
  };
}

/** The comment at the top of an example, without its line for the tests (`needs: cluster`). */
function aboutExample(code: string): string {
  const lines = /^(?:\/\/.*\n)*/.exec(code)?.[0].split("\n") ?? [];
  const sentences = lines
    .map((line) => line.replace(/^\/\/ ?/, ""))
    .filter((line) => !/^(?:needs:|$)/.test(line));
  return sentences.join(" ").replaceAll("<", "&lt;");
}

function examplePages(): Page[] {
  const folder = path.join(root, "examples");
  const files = fs
    .readdirSync(folder)
    .filter((name) => /\.m?[jt]s$/.test(name))
    .sort();
  const pages = files.map((name) => {
    const code = read(path.join("examples", name)).trimEnd();
    return {
      path: `examples/${name.replaceAll(".", "-")}.md`,
      content: `# ${name}\n\n${aboutExample(code)}\n\n\`\`\`js\n${code}\n\`\`\`\n`,
    };
  });
  const lines = files.map((name) => {
    const [sentence = ""] = aboutExample(read(path.join("examples", name))).split(/(?<=\.) /);
    return `- [${name}](${name.replaceAll(".", "-")}.md): ${sentence}`;
  });
  const index = `# Examples\n\nEach example is a complete program that the tests run.\n\n${lines.join("\n")}\n`;
  return [{ path: "examples/index.md", content: index }, ...pages];
}

/** A page with data for a component of its own, and the paragraphs around it. */
function componentPage(
  path: string,
  title: string,
  data: { readonly name: string; readonly value: unknown },
  paragraphs: readonly string[],
): Page {
  const json = JSON.stringify(data.value).replaceAll("<", "\\u003c");
  const script = `<script setup>\nconst ${data.name} = ${json};\n</script>`;
  return { path, content: [`# ${title}`, script, ...paragraphs].map((one) => `${one}\n`).join("\n") };
}

/** The page that steps through the writes of real programs. */
function writesPage(all: readonly Recording[]): Page {
  return componentPage("writes.md", "Recorded writes", { name: "recordings", value: all }, [
    "This page shows the writes of real programs, recorded with a [test server](./testing-server.md) 5 ms away when this site was built. Each box is one write of the client, or one read of replies.",
    '<RecordedWrites :recordings="recordings" />',
    "Commands of one callback share a write. While a reply is outstanding, commands of other callbacks in the same turn of the event loop join this write. See also [pipelining](./pipelining.md), [auto-pipelining](./auto-pipelining.md).",
  ]);
}

/** Pages that show a program, without text for language models. */
const SHOWN_ONLY = new Set(["writes.md", "playground.md"]);

/** The page that runs programs and shows their writes. */
function playgroundPage(): Page {
  return componentPage("playground.md", "Playground", { name: "programs", value: PLAYGROUND_PROGRAMS }, [
    "Write a program, run it, and see its writes. The client and a [test server](./testing-server.md) run in this page. The page installs nothing and sends nothing to a network.",
    '<PlayGround :programs="programs" />',
    "`redis` is a connected client (a `Cluster` with more than one server), `server` the [TestServer](./testing-server.md), with its `faults`, `state` and `advance()`. `sleep(ms)` waits, `console.log` prints. Each run starts with an empty server and ends after 20 seconds. Ctrl+Enter runs the program.",
    "A browser has no `process.nextTick` and no `setImmediate`, so a microtask and a message replace them. A connection in memory is not a socket, so the client writes only at the end of a task. Times depend on your browser. For times with a server, see [benchmarks](./benchmarks.md).",
  ]);
}

/** The menu follows the list of pages in docs/README.md. */
function navigationOf(guide: string, commands: readonly Page[]): Group[] {
  const groups: Group[] = [];
  for (const section of guide.split(/^## /m).slice(1)) {
    const [title = ""] = section.split("\n", 1);
    const items = [...section.matchAll(/\[([^\]]+)\]\((?:\.\.\/testing\/docs\/)?([\w/-]+)(?:\.md)?\)/g)].map(
      ([, text = "", target = ""]) => ({
        text: text.charAt(0).toUpperCase() + text.slice(1),
        link: target === "decisions" ? "/decisions/" : `/${target}`,
      }),
    );
    if (items.length > 0) groups.push({ text: title, items });
  }
  const examples = [
    { text: "Playground", link: "/playground" },
    { text: "All examples", link: "/examples/" },
    { text: "Recorded writes", link: "/writes" },
  ];
  groups.push({ text: "Examples", items: examples });
  const list = commands.map(({ path: page }) => {
    const name = path.basename(page, ".md");
    return { text: name.toUpperCase(), link: `/commands/${name}` };
  });
  groups.push({ text: "Every command", items: list, collapsed: true });
  return groups;
}

/** For language models: an index with one line for each page, and one file with all pages. */
function modelFiles(pages: readonly Page[]): Page[] {
  const own = pages.filter(({ path: page }) => !page.startsWith("commands/") && !SHOWN_ONLY.has(page));
  const lines = own.map(
    ({ path: page, content }) => `- [${titleOf(content)}](${page.replace(/\.md$/, ".html")})`,
  );
  const whole = own.map(({ path: page, content }) => `<!-- ${page} -->\n\n${content}`);
  return [
    {
      path: "llms.txt",
      content: `# sluice\n\n> Redis and Valkey client for Node.js with the ioredis API, pipelined.\n\n${lines.join("\n")}\n`,
    },
    { path: "llms-full.txt", content: whole.join("\n\n") },
  ];
}

function titleOf(content: string): string {
  return /^# (.+)$/m.exec(content)?.[1] ?? "";
}

function read(file: string): string {
  return fs.readFileSync(path.join(root, file), "utf8");
}

function write(folder: string, pages: readonly Page[]): void {
  for (const { path: page, content } of pages) {
    const file = path.join(work, folder, page);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, content);
  }
}

async function assemble(): Promise<void> {
  fs.rmSync(work, { recursive: true, force: true });
  const sources = sourcePages();
  const places = new Map([...sources].map(([page, source]) => [source.split(path.sep).join("/"), page]));
  const snapshots = readSnapshots();
  const table = buildTable(snapshots);
  const commands = commandPages(snapshots, table, await commandExamples(table));
  const examples = examplePages();
  const written = [...sources].map(([page, source]) => ({
    path: page,
    content: rewritePage(read(source), { page, source, places }),
  }));
  const demonstration = writesPage(await recordings());
  const pages = [
    ...written,
    decisionIndex(sources),
    ...examples,
    demonstration,
    playgroundPage(),
    ...commands,
  ];
  write("pages", pages);
  write("public", modelFiles(pages));
  fs.cpSync(path.join(root, "docs", "images"), path.join(work, "pages", "images"), { recursive: true });
  const { version } = JSON.parse(read("package.json")) as { version: string };
  const navigation = navigationOf(read("docs/README.md"), commands);
  fs.writeFileSync(path.join(work, "site.json"), JSON.stringify({ version, navigation }));
  process.stdout.write(`${pages.length} pages\n`);
}

assemble().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
