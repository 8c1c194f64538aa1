/**
 * One page a command for the site: syntax, an example that was run, replies in both mappings, the positions of its
 * keys, its routing on a cluster, complexity, servers and signatures. All facts come from the table, the snapshots and
 * the reply types.
 */

import { CommandFlag } from "../../src/command/command-spec";
import { describeKeys, nature, newestServer, policy, servers } from "../commands/command-docs";
import { REMARKS, REPLIES } from "../commands/replies";
import { replyTypes, signatureLines } from "../commands/signature-text";
import { documentOf, methodShapes, methodSyntax } from "../commands/signatures";
import type { Snapshot } from "../commands/snapshot";
import type { Table, TableRow } from "../commands/table-rows";

export interface Page {
  /** From the folder of the pages. */
  readonly path: string;
  readonly content: string;
}

/** @param examples code by the name of its command */
export function commandPages(
  snapshots: readonly Snapshot[],
  table: Table,
  examples: ReadonlyMap<string, string>,
): Page[] {
  return table.methods.map((row) => ({
    path: `commands/${row.name}.md`,
    content: pageOf(snapshots, row, examples.get(row.name)),
  }));
}

function pageOf(snapshots: readonly Snapshot[], row: TableRow, example: string | undefined): string {
  const word = row.name.toUpperCase();
  const doc = documentOf(snapshots, row.name);
  const sections = [
    `---\npageClass: command\ntitle: ${word}\ndescription: ${JSON.stringify(doc.summary ?? word)}\n---`,
    `# ${word}`,
    doc.summary ?? row.info.docs.summary ?? "",
    syntaxSection(snapshots, row),
    exampleSection(example),
    replySection(row),
    REMARKS[row.name] ?? "",
    factSection(row, doc),
    subcommandSection(row),
    signatureSection(snapshots, row),
    guideSection(doc.group),
    `The server's own page: [${word}](https://redis.io/docs/latest/commands/${row.name}/). All methods: [commands](../commands.md).`,
  ];
  return `${sections.filter((text) => text !== "").join("\n\n")}\n`;
}

function syntaxSection(snapshots: readonly Snapshot[], row: TableRow): string {
  const lines = methodSyntax(snapshots, row.name);
  return lines.length === 0 ? "" : `\`\`\`\n${lines.join("\n")}\n\`\`\``;
}

function exampleSection(example: string | undefined): string {
  if (example === undefined) return "";
  return `## Example\n\n\`\`\`js\n${example}\n\`\`\`\n\nThe [test server](../testing-server.md) returned these replies when this page was built.`;
}

/** The pages that explain a group of commands. */
const GUIDES: Readonly<Record<string, string>> = {
  stream: "[Streams](../streams.md)",
  pubsub: "[Publish and subscribe](../pubsub.md)",
  transactions: "[Transactions](../transactions.md)",
  scripting: "[Scripting](../scripting.md)",
  cluster: "[Cluster](../cluster.md)",
  sentinel: "[Sentinel](../sentinel.md)",
};

function guideSection(group: string | undefined): string {
  const own = group === undefined ? undefined : GUIDES[group];
  const pages = ["[Calling commands](../calling-commands.md)", "[Pipelining](../pipelining.md)"];
  return `See also: ${(own === undefined ? pages : [own, ...pages]).join(", ")}.`;
}

/** As the method stands on a client; on a pipeline it gives the pipeline. */
function signatureSection(snapshots: readonly Snapshot[], row: TableRow): string {
  const shapes = methodShapes(snapshots, row.name);
  const lines = shapes.flatMap((shape) => signatureLines({ name: row.name, wantsBuffers: false }, shape));
  if (lines.length === 0) return "";
  const plain = lines.map((line) =>
    line
      .replace(/\): Result<(.*), Context>;$/s, "): Promise<$1>;")
      // The reply in each mapping stands in the table below.
      .replace(/Promise<ReplyShape<.*, Context\["mapping"\]>>;$/s, "Promise<Reply>;")
      .replace(/(?:, )?callback\?: .*?(?=\]?\): Promise<)/s, ""),
  );
  const shown = plain.filter((line) => !line.includes("callback"));
  const code = `\`\`\`ts\n${[...new Set(shown.length > 0 ? shown : plain)].join("\n")}\n\`\`\``;
  const note = shown.length > 0 ? "\n\nEach form also accepts a callback as its last argument." : "";
  return `## TypeScript\n\n<details>\n<summary>Signatures</summary>\n\n${code}${note}\n\n</details>`;
}

function replySection(row: TableRow): string {
  const reply = REPLIES[row.name];
  if (reply === undefined) return "";
  const cases = typeof reply === "string" ? [["", reply] as const] : Object.entries(reply);
  const types = cases.map(([word, text]) => ({ word, ...replyTypes(text, false) }));
  const [only] = types;
  const parts = ["## Reply"];
  if (only !== undefined && types.length === 1 && only.legacy === only.resp3)
    parts.push(`\`${only.legacy}\``);
  else parts.push(replyTable(types));
  if (cases.some(([, text]) => hasText(text))) {
    parts.push(`\`${row.name}Buffer\` returns Buffers instead of strings.`);
  }
  return parts.join("\n\n");
}

function hasText(reply: string): boolean {
  return replyTypes(reply, true).legacy !== replyTypes(reply, false).legacy;
}

function replyTable(types: readonly { word: string; legacy: string; resp3: string }[]): string {
  const lines = types.map(({ word, legacy, resp3 }) => {
    const when = word === "" ? "always" : word === "else" ? "otherwise" : `with \`${word}\``;
    return `| ${when} | ${asCode(legacy)} | ${asCode(resp3)} |`;
  });
  return `| | \`replyMapping: "legacy"\` | \`replyMapping: "resp3"\` |\n|---|---|---|\n${lines.join("\n")}`;
}

function asCode(type: string): string {
  return `\`${type.replaceAll("|", "\\|")}\``;
}

function factSection(row: TableRow, doc: { since?: string; complexity?: string }): string {
  const facts: readonly (readonly [string, string])[] = [
    ["Since", doc.since ?? ""],
    ["Complexity", doc.complexity?.replaceAll(/\s+/g, " ") ?? ""],
    ["Keys", describeKeys(row)],
    ["Kind", nature(row)],
    ["On a cluster", clusterText(row)],
    ["Servers", serversText(row)],
  ];
  const lines = facts
    .filter(([, text]) => text !== "")
    .map(([name, text]) => `- **${name}**: ${escaped(text)}`);
  return `## Facts\n\n${lines.join("\n")}`;
}

function clusterText(row: TableRow): string {
  const tips = policy(row);
  const hasKeys = describeKeys(row) !== "";
  const place = hasOneKey(row)
    ? "the node that owns the slot of its key"
    : "the node that owns the slot of its first key; all keys must belong to one slot";
  const way = hasKeys
    ? `the client sends it to ${place}`
    : "it has no keys, so the client sends it to any node";
  const reads =
    (row.flags & CommandFlag.Readonly) !== 0 && hasKeys ? "; a replica may serve it (`scaleReads`)" : "";
  return `${way}${reads}${tips === "" ? "" : `. With \`followCommandTips\`: ${tips}`}`;
}

function serversText(row: TableRow): string {
  const isNew = row.sources.every((source) => newestServer(source) !== null);
  return isNew ? `${servers(row)}; not in older versions of Redis, and not in Valkey 9.1` : servers(row);
}

/** Whether the command has one key at most, with all options. */
function hasOneKey(row: TableRow): boolean {
  return /^\d+$/.test(describeKeys(row)) || row.keys.startsWith("s");
}

function subcommandSection(row: TableRow): string {
  const lines = row.subcommands
    .filter(({ name }) => name !== "help")
    .map((sub) => `- \`${row.name} ${sub.name}\`: ${escaped(sub.info.docs.summary ?? "")}`);
  return lines.length === 0 ? "" : `## Subcommands\n\n${lines.join("\n")}`;
}

function escaped(text: string): string {
  return text.replaceAll("<", "&lt;");
}
