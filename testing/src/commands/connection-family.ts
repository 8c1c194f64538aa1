/**
 * Connections, and the clients behind them.
 */

import type { Handlers } from "../server/model";
import { clientHandlers } from "./clients";
import { connectionHandlers } from "./connection";

export const CONNECTIONS: Handlers = { ...clientHandlers, ...connectionHandlers };
