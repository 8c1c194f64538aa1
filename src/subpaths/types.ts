/** The sub-path `built/types`: types only, under the names that programs written for this API use. */

import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";

export type { ReplyMappingMode } from "../client/types";
export type { Callback } from "../command/generated/signatures";
export type { ScanStreamOptions } from "../streaming/scan-stream";
export type NetStream = Socket | TLSSocket;
export type ProtocolVersion = 2 | 3;
export type CommandParameter = string | Buffer | number | unknown[];
