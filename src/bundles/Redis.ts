/** The sub-path `built/Redis` as an ES module: it includes all late parts, as in the CommonJS build. */

import "../with/all";

export { Redis, Redis as default } from "../client/redis";
