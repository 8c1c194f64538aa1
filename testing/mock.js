/** `sluice-testing/mock`: the mock of the client that is installed as "sluice" or under the name "ioredis". */

"use strict";

const { mockOf } = require("./built/mock-of.js");

/** The manifest of a package; undefined if it is not installed. */
function manifestOf(load) {
  try {
    return load();
  } catch (error) {
    if (error.code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

function findClient() {
  // The sub-paths are read, because the entry itself may be what the mock replaces.
  if (manifestOf(() => require("sluice/package.json")) !== undefined)
    return [require("sluice/built/Redis").default, require("sluice/built/cluster").default];
  const other = manifestOf(() => require("ioredis/package.json"));
  if (other?.name === "sluice")
    return [require("ioredis/built/Redis").default, require("ioredis/built/cluster").default];
  const found =
    other === undefined ? "" : ` "ioredis" is ${other.name} ${other.version}, which it cannot mock.`;
  throw Object.assign(
    new Error(
      `sluice-testing/mock found no client.${found} Install sluice as "sluice", or as "ioredis": npm install ioredis@npm:sluice`,
    ),
    { code: "MODULE_NOT_FOUND" },
  );
}

const Mock = mockOf(...findClient());
// Tools that read CommonJS without running it find the default export here.
exports.default = Mock;
exports = module.exports = Mock;
