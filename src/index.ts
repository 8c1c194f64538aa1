/**
 * Public surface, exports only. `require("sluice")` is the `Redis` class itself with the named
 * exports on it; the names below are found by Node's static scan for `import { ... }`.
 */

module.exports = require("./client/redis").Redis;
