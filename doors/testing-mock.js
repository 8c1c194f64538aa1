/** `sluice/testing/mock`: the mock of this client, made by the package sluice-testing. */

"use strict";

require("./need-test-kit.js")();
const { mockOf } = require("sluice-testing/mock-of");
// The sub-paths are read, because the entry itself may be what the mock replaces.
const { default: Redis } = require("../built/Redis.js");
const { default: Cluster } = require("../built/cluster/index.js");

const Mock = mockOf(Redis, Cluster);
// Tools that read CommonJS without running it find the default export here.
exports.default = Mock;
exports = module.exports = Mock;
