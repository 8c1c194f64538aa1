/** Lives in the test kit, where users have it too. */

import "./cache-directory";

export * from "../../testing/src/real/wheel";
