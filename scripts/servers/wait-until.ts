/** Re-exports a module of the test kit. */

export * from "../../testing/src/real/wait-until";
