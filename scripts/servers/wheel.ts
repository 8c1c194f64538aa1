/** Re-exports a module of the test kit. */

import "./cache-directory";

export * from "../../testing/src/real/wheel";
