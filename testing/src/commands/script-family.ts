/**
 * Scripts and functions.
 */

import type { Handlers } from "../server/model";
import { functionHandlers } from "./functions";
import { scriptHandlers } from "./scripts";

export const SCRIPTS: Handlers = { ...functionHandlers, ...scriptHandlers };
