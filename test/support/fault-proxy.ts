/** Lives in the test kit, where users have it too. */

export * from "../../testing/src/faults/fault-proxy";
