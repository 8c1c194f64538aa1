import type { BehaviourGroup } from "../behaviour";
import { arguments_ } from "./arguments";
import { autoPipelining } from "./auto-pipelining";
import { calling } from "./calling";
import { connection } from "./connection";
import { handshake } from "./handshake";
import { options } from "./options";
import { pipelines } from "./pipelines";
import { prefixes } from "./prefixes";
import { pubsub } from "./pubsub";
import { reconnecting } from "./reconnecting";
import { replies } from "./replies";
import { scripts } from "./scripts";
import { streams } from "./streams";
import { timeouts } from "./timeouts";
import { transactions } from "./transactions";

export const BEHAVIOUR_GROUPS: readonly BehaviourGroup[] = [
  calling,
  arguments_,
  replies,
  scripts,
  pipelines,
  transactions,
  autoPipelining,
  connection,
  handshake,
  reconnecting,
  timeouts,
  prefixes,
  pubsub,
  streams,
  options,
];
