"use strict";

/** Explains a missing test kit: "Cannot find module" alone names a package that the program does not mention. */
module.exports = () => {
  try {
    require.resolve("sluice-testing");
  } catch (cause) {
    const message =
      "The test kit is the package sluice-testing, which is not installed: npm install --save-dev sluice-testing";
    throw Object.assign(new Error(message, { cause }), { code: "MODULE_NOT_FOUND" });
  }
};
