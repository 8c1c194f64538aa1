/** `sluice/testing/mock`: the mock of this client, made by the package sluice-testing. */

"use strict";

require("./need-test-kit.js")();
const { mockOf } = require("sluice-testing/mock-of");
// The sub-paths are read, because the entry itself may be what the mock replaces.
const { default: Redis } = require("../built/Redis.js");
const { default: Cluster } = require("../built/cluster/index.js");

module.exports = mockOf(Redis, Cluster);
module.exports.default = module.exports;
