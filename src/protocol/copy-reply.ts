/** Copies a reply so that the copy shares no mutable part with the original. */

import { setOwn } from "../util/own-property";
import type { Reply } from "./resp-types";

export function copyReply(reply: Reply): Reply {
  if (typeof reply !== "object" || reply === null || reply instanceof Error) return reply;
  if (Buffer.isBuffer(reply)) return Buffer.from(reply);
  if (Array.isArray(reply)) return reply.map(copyReply);
  const copy: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(reply)) setOwn(copy, field, copyReply(value));
  return copy;
}
