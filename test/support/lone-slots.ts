import type { SlotMapDeps } from "../../src/cluster/slot-map";

/** For a slot map whose nodes have no commands. */
export const LONE_SLOTS = {
  retries: { hold() {}, holdAll() {} },
  onSlotMoved() {},
} as unknown as SlotMapDeps;
