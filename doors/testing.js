/** `sluice/testing`: the package sluice-testing. */

"use strict";

require("./need-test-kit.js")();
module.exports = require("sluice-testing");
