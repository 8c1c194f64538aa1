/** Lives in the test kit, where users have it too. */

export * from "../../src/testing/real/server-sentinels";
