/** The sub-path `built/Redis` as an ES module: the class has its parts, as in the CommonJS build. */

import "../with/all";

export { Redis, Redis as default } from "../client/redis";
