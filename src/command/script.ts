/**
 * A named Lua script. Its commands refer to it; the connection decides when it writes them whether to send the
 * text or the hash.
 */

import { OptionError } from "../errors";
import { prepareArguments } from "./argument-mappers";
import { Command, type Completion } from "./command";
import type { ScriptReference } from "./command-extra";
import type { KeyPrefix } from "./command-factory";
import type { CommandSpec } from "./command-spec";
import { specOf } from "./command-table";
import { prefixKeys } from "./key-positions";

/** The definition for `defineCommand`. */
export interface ScriptDefinition {
  /** The Lua source text. */
  lua: string;
  /** How many of the call's arguments are keys; without it the caller passes the count first. */
  numberOfKeys?: number | null | undefined;
  /** The script only reads: a cluster may send it to a replica. Default false. */
  readOnly?: boolean | undefined;
}

/** Transformers of EVALSHA do not apply to scripts. */
const EVALSHA = { name: "evalsha", argumentMapper: null };

export class Script implements ScriptReference {
  readonly lua: string;
  readonly sha: string;
  readonly numberOfKeys: number | null;
  readonly isReadOnly: boolean;
  readonly byText: CommandSpec = specOf("eval");
  readonly bySha: CommandSpec = specOf("evalsha");

  constructor(
    definition: ScriptDefinition,
    private readonly prefix: KeyPrefix | undefined,
  ) {
    const lua: unknown = definition?.lua;
    if (typeof lua !== "string" && !Buffer.isBuffer(lua)) {
      throw new OptionError("Invalid definition of a script: expected { lua, numberOfKeys }");
    }
    this.lua = definition.lua;
    this.sha = sha1(definition.lua);
    const { numberOfKeys } = definition;
    // The API ignores a string, even of digits: its callers pass the count.
    this.numberOfKeys = typeof numberOfKeys === "number" ? numberOfKeys : null;
    this.isReadOnly = definition.readOnly ?? false;
  }

  /** Creates the command of one call. Throws an `ArgumentError` for an argument that cannot be sent. */
  makeCommand(args: unknown[], wantsBuffers: boolean, completion: Completion, copies = true): Command {
    const flat = prepareArguments(EVALSHA, args, copies);
    const encoded =
      this.numberOfKeys === null ? [this.sha, ...flat] : [this.sha, String(this.numberOfKeys), ...flat];
    prefixKeys(this.bySha, encoded, this.prefix);
    const command = new Command(this.bySha, encoded, wantsBuffers, completion);
    command.ensureExtra().script = this;
    return command;
  }
}

/** Loaded with the first script: loading it takes a tenth of the package's load time. */
function sha1(text: string): string {
  const { createHash } = require("node:crypto") as typeof import("node:crypto");
  return createHash("sha1").update(text).digest("hex");
}
