/**
 * One page a command for the site: signatures, replies in both mappings, where its keys are, what a cluster makes of
 * it, complexity and servers. It says what the table, the snapshots and the reply types say, and nothing else.
 */

import { CommandFlag } from "../../src/command/command-spec";
import { describeKeys, nature, policy, servers } from "../commands/command-docs";
import { REMARKS, REPLIES } from "../commands/replies";
import { replyTypes, signatureLines } from "../commands/signature-text";
import { documentOf, methodShapes } from "../commands/signatures";
import type { Snapshot } from "../commands/snapshot";
import type { Table, TableRow } from "../commands/table-rows";

export interface Page {
  /** From the folder of the pages. */
  readonly path: string;
  readonly content: string;
}

export function commandPages(snapshots: readonly Snapshot[], table: Table): Page[] {
  return table.methods.map((row) => ({
    path: `commands/${row.name}.md`,
    content: pageOf(snapshots, row),
  }));
}

function pageOf(snapshots: readonly Snapshot[], row: TableRow): string {
  const word = row.name.toUpperCase();
  const doc = documentOf(snapshots, row.name);
  const sections = [
    `---\npageClass: command\ntitle: ${word}\ndescription: ${JSON.stringify(doc.summary ?? word)}\n---`,
    `# ${word}`,
    doc.summary ?? row.info.docs.summary ?? "",
    signatureSection(snapshots, row),
    replySection(row),
    REMARKS[row.name] ?? "",
    factSection(row, doc),
    subcommandSection(row),
    `The server's own page: [${word}](https://redis.io/docs/latest/commands/${row.name}/). All methods: [commands](../commands.md).`,
  ];
  return `${sections.filter((text) => text !== "").join("\n\n")}\n`;
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
  return shown.length > 0 ? `${code}\n\nEach form also takes a callback as its last argument.` : code;
}

function replySection(row: TableRow): string {
  const reply = REPLIES[row.name];
  if (reply === undefined) return "";
  const cases = typeof reply === "string" ? [["", reply] as const] : Object.entries(reply);
  const lines = cases.map(([word, text]) => {
    const { legacy, resp3 } = replyTypes(text, false);
    const when = word === "" ? "always" : word === "else" ? "otherwise" : `with \`${word}\``;
    return `| ${when} | ${asCode(legacy)} | ${asCode(resp3)} |`;
  });
  const head = '| | `replyMapping: "legacy"` | `replyMapping: "resp3"` |\n|---|---|---|';
  return `## Reply\n\n${head}\n${lines.join("\n")}\n\n\`${row.name}Buffer\` gives Buffers where this gives strings.`;
}

function asCode(type: string): string {
  return `\`${type.replaceAll("|", "\\|")}\``;
}

function factSection(row: TableRow, doc: { since?: string; complexity?: string }): string {
  const facts: readonly (readonly [string, string])[] = [
    ["Since", doc.since ?? ""],
    ["Complexity", doc.complexity?.replaceAll(/\s+/g, " ") ?? ""],
    ["Keys", describeKeys(row)],
    ["Nature", nature(row)],
    ["On a cluster", clusterText(row)],
    ["Servers", servers(row)],
  ];
  const lines = facts
    .filter(([, text]) => text !== "")
    .map(([name, text]) => `- **${name}**: ${escaped(text)}`);
  return `## Facts\n\n${lines.join("\n")}`;
}

function clusterText(row: TableRow): string {
  const tips = policy(row);
  const hasKeys = describeKeys(row) !== "";
  const way = hasKeys
    ? "goes to the node that owns the slot of its first key; all keys have to be in one slot"
    : "has no keys, so it goes to any node";
  const reads =
    (row.flags & CommandFlag.Readonly) !== 0 && hasKeys ? "; may be read from a replica (`scaleReads`)" : "";
  return `${way}${reads}${tips === "" ? "" : `. With \`followCommandTips\`: ${tips}`}`;
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
