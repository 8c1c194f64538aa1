/**
 * Asks running servers for COMMAND and COMMAND DOCS and writes the sorted replies to `data/`, so that the
 * same server always gives the same file.
 *
 *   node build/scripts/commands/capture.js                    starts one server of each kind
 *   node build/scripts/commands/capture.js 127.0.0.1:6379 …   asks servers that are running
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { AdminConnection, type AdminReply } from "../servers/admin-connection";
import { findServer, REAL_KINDS, type ServerKind } from "../servers/find-server";
import { ServerProcess } from "../servers/server-process";
import { type CommandDoc, type CommandInfo, DATA_DIRECTORY, formatSnapshot, type KeySpec } from "./snapshot";

type Row = readonly AdminReply[];

function asRow(reply: AdminReply | undefined): Row {
  if (!Array.isArray(reply)) throw new Error(`Expected an array, got ${JSON.stringify(reply)}`);
  return reply;
}

function sortedWords(reply: AdminReply | undefined): string[] {
  return asRow(reply).map(String).sort();
}

/** RESP2 sends a map as a flat array; nested maps are turned by `inner`, field by field. */
function asObject(
  reply: AdminReply | undefined,
  inner: (field: string, value: AdminReply) => unknown,
): Record<string, unknown> {
  const row = asRow(reply);
  const result: Record<string, unknown> = {};
  for (let index = 0; index < row.length; index += 2) {
    const field = String(row[index]);
    result[field] = inner(field, row[index + 1] ?? null);
  }
  return result;
}

function docField(field: string, value: AdminReply): unknown {
  if (field === "arguments") return asRow(value).map((argument) => asObject(argument, docField));
  if (field === "flags" || field === "doc_flags") return sortedWords(value);
  return value;
}

/** Subcommands have entries of their own. */
function docsOf(reply: AdminReply): CommandDoc {
  const { subcommands: _, ...docs } = asObject(reply, (field, value) => {
    return field === "subcommands" ? null : docField(field, value);
  });
  return docs as CommandDoc;
}

function keySpecOf(reply: AdminReply): KeySpec {
  const spec = asObject(reply, (field, value) => {
    if (field === "flags") return sortedWords(value);
    if (field === "notes") return value;
    return asObject(value, (_, part) => (Array.isArray(part) ? asObject(part, (__, leaf) => leaf) : part));
  });
  return spec as unknown as KeySpec;
}

function addDocs(docs: Map<string, CommandDoc>, reply: AdminReply): void {
  const row = asRow(reply);
  for (let index = 0; index < row.length; index += 2) {
    const body = row[index + 1] ?? null;
    docs.set(String(row[index]).toLowerCase(), docsOf(body));
    asObject(body, (field, value) => {
      if (field === "subcommands") addDocs(docs, value);
      return null;
    });
  }
}

function addCommands(
  commands: Record<string, CommandInfo>,
  rows: Row,
  docs: ReadonlyMap<string, CommandDoc>,
): void {
  for (const reply of rows) {
    const row = asRow(reply);
    const name = String(row[0]).toLowerCase();
    commands[name] = {
      arity: Number(row[1]),
      flags: sortedWords(row[2]),
      keys: [Number(row[3]), Number(row[4]), Number(row[5])],
      categories: sortedWords(row[6]),
      tips: sortedWords(row[7]),
      keySpecs: asRow(row[8]).map(keySpecOf),
      docs: docs.get(name) ?? {},
    };
    addCommands(commands, asRow(row[9]), docs);
  }
}

async function versionOf(connection: AdminConnection): Promise<string> {
  const info = String(await connection.command("INFO", "server"));
  const valkey = /^valkey_version:(\S+)/m.exec(info)?.[1];
  const redis = /^redis_version:(\S+)/m.exec(info)?.[1];
  return valkey === undefined ? `redis ${redis}` : `valkey ${valkey}`;
}

/** Writes the snapshot of the server that listens on `host:port`; returns the file's name. */
export async function capture(host: string, port: number): Promise<string> {
  const connection = await AdminConnection.open({ host, port });
  try {
    const server = await versionOf(connection);
    const docs = new Map<string, CommandDoc>();
    addDocs(docs, await connection.command("COMMAND", "DOCS"));
    const commands: Record<string, CommandInfo> = {};
    addCommands(commands, asRow(await connection.command("COMMAND")), docs);
    const [product = "", version = ""] = server.split(" ");
    const file = `${product}-${version.split(".").slice(0, 2).join(".")}.json`;
    writeFileSync(join(DATA_DIRECTORY, file), formatSnapshot({ server, commands }));
    return file;
  } finally {
    connection.close();
  }
}

async function captureKind(kind: ServerKind): Promise<string> {
  const server = await ServerProcess.start({ binary: await findServer(kind) });
  try {
    return await capture(server.host, server.port);
  } finally {
    await server.stop();
  }
}

async function main(addresses: readonly string[]): Promise<void> {
  const kinds = addresses.length === 0 ? REAL_KINDS : [];
  for (const kind of kinds) process.stdout.write(`${await captureKind(kind)}\n`);
  for (const address of addresses) {
    const colon = address.lastIndexOf(":");
    process.stdout.write(`${await capture(address.slice(0, colon), Number(address.slice(colon + 1)))}\n`);
  }
}

if (require.main === module) void main(process.argv.slice(2));
