/**
 * The default export of the ES modules: the class with all its parts, and with the named exports on it, as
 * `require("sluice")` returns it. A bundler includes this file only for programs that use the default export.
 */

import "../with/all";
import { Redis } from "../client/redis";
import * as names from "../index";

Object.defineProperty(Redis, "__esModule", { value: true });

export default Object.assign(Redis, names);
