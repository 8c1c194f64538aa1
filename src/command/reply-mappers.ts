/**
 * Converts a decoded reply into the documented shape. The parser returns maps as flat arrays under the legacy
 * mapping and as plain objects under "resp3"; the mappers make the legacy shape equal on both protocols. A
 * mapper receives arrays of strings or of Buffers and may change and return the given array. Without a context
 * the mapping is legacy.
 */

import type { Reply } from "../protocol/resp-types";
import { setOwn } from "../util/own-property";
import type { CommandSpec, MapForm, ReplyContext, ReplyMapper, ReplyShape } from "./command-spec";

/** The members of a command that its mapper needs. */
interface MappedCommand {
  readonly spec: CommandSpec;
  readonly extra: { readonly form: { readonly map: MapForm | null } | null } | null;
}

/** Applies the reply transformer of a command. Throws the transformer's error. */
export function mapReply({ spec, extra }: MappedCommand, raw: Reply, shape: ReplyShape): Reply {
  const mapper = spec.replyMapper;
  if (mapper === null) return raw;
  const { protocol, replyMapping } = shape;
  const context: ReplyContext = { commandName: spec.name, protocol, replyMapping };
  const map = extra?.form?.map ?? null;
  return mapper(raw, map === null ? context : { ...context, map });
}

/** Field and value pairs as an object or `Map`. Field names are strings even if values are Buffers. */
function fieldsToObject(reply: Reply, context?: ReplyContext): Reply {
  if (!Array.isArray(reply)) return reply;
  if (context?.map === "map") {
    const map = new Map<string, unknown>();
    for (let index = 0; index < reply.length; index += 2) map.set(String(reply[index]), reply[index + 1]);
    return map;
  }
  const object: Record<string, unknown> = {};
  for (let index = 0; index < reply.length; index += 2) {
    setOwn(object, String(reply[index]), reply[index + 1]);
  }
  return object;
}

// RESP3  [[member, score], [member, score]]   nested when scores or values are asked for
// RESP2  [member, score, member, score]
function flattenPairs(reply: Reply, context?: ReplyContext): Reply {
  if (!Array.isArray(reply) || !Array.isArray(reply[0]) || keepsShape(context)) return reply;
  const flat: unknown[] = [];
  for (const pair of reply as unknown[][]) flat.push(pair[0], pair[1]);
  return flat;
}

// RESP3  [stream, entries, stream, entries]   a map, flat as the parser hands it over
// RESP2  [[stream, entries], [stream, entries]]
function pairStreams(reply: Reply, context?: ReplyContext): Reply {
  if (!Array.isArray(reply) || Array.isArray(reply[0]) || keepsShape(context)) return reply;
  const streams: unknown[] = [];
  for (let index = 0; index < reply.length; index += 2) streams.push([reply[index], reply[index + 1]]);
  return streams;
}

// RESP3  [element, [score, attributes], …]   a map whose values are lists if both are asked for
// RESP2  [element, score, attributes, …]
function flattenSimilar(reply: Reply, context?: ReplyContext): Reply {
  if (!Array.isArray(reply) || keepsShape(context)) return reply;
  return reply.some(Array.isArray) ? reply.flat(1) : reply;
}

function keepsShape(context: ReplyContext | undefined): boolean {
  return context !== undefined && context.replyMapping === "resp3";
}

/** The built-in transformers, by the exact command name. */
export const BUILTIN_REPLY_MAPPERS: Readonly<Record<string, ReplyMapper>> = {
  hgetall: fieldsToObject,
  hrandfield: flattenPairs,
  vsim: flattenSimilar,
  xread: pairStreams,
  xreadgroup: pairStreams,
  zdiff: flattenPairs,
  zinter: flattenPairs,
  zpopmax: flattenPairs,
  zpopmin: flattenPairs,
  zrandmember: flattenPairs,
  zrange: flattenPairs,
  zrangebyscore: flattenPairs,
  zrevrange: flattenPairs,
  zrevrangebyscore: flattenPairs,
  zunion: flattenPairs,
};

const OWN_MAPPERS: ReadonlySet<ReplyMapper | null> = new Set([null, ...Object.values(BUILTIN_REPLY_MAPPERS)]);

/** A user's transformer may return anything: objects of any class, promises. */
export function isMappedByUser({ replyMapper }: CommandSpec): boolean {
  return !OWN_MAPPERS.has(replyMapper);
}

/** A reply with strings in place of Buffers. Lists are copied, because a tracer may have kept them. */
export function withText(reply: Reply): Reply {
  if (typeof reply !== "object" || reply === null || reply instanceof Error) return reply;
  if (Buffer.isBuffer(reply)) return reply.toString();
  if (Array.isArray(reply)) return reply.map(withText);
  if (reply instanceof Map) {
    const map: Map<unknown, unknown> = reply;
    for (const [key, value] of map) map.set(key, withText(value));
    return map;
  }
  const fields = reply as Record<string, unknown>;
  for (const [name, value] of Object.entries(fields)) setOwn(fields, name, withText(value));
  return fields;
}
