/** Objects that all copies of the client in a process share, however they are bundled or loaded. */

/** @param name Ends with the version of the object's shape. */
export function processWide<T>(name: string, make: () => T): T {
  const shared = globalThis as unknown as Record<symbol, T | undefined>;
  const key = Symbol.for(name);
  const present = shared[key];
  if (present !== undefined) return present;
  const made = make();
  // A getter, because Jest empties objects that a test file leaves as values on the global object, even if
  // clients still use them.
  Object.defineProperty(shared, key, { get: () => made });
  return made;
}
