/**
 * Hashes, and their fields that expire.
 */

import type { Handlers } from "../server/model";
import { hashExpiryHandlers } from "./hash-expiry";
import { hashSetexHandlers } from "./hash-setex";
import { hashHandlers } from "./hashes";

export const HASHES: Handlers = { ...hashExpiryHandlers, ...hashSetexHandlers, ...hashHandlers };
