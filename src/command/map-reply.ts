/** Applies the reply transformer of a command. Throws what the transformer throws. */

import type { Reply } from "../protocol/resp-types";
import type { CommandSpec, ReplyShape } from "./command-spec";

export function mapReply(spec: CommandSpec, raw: Reply, shape: ReplyShape): Reply {
  const mapper = spec.replyMapper;
  if (mapper === null) return raw;
  const { protocol, replyMapping } = shape;
  return mapper(raw, { commandName: spec.name, protocol, replyMapping });
}
