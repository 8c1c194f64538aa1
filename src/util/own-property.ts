/**
 * Own properties with names from data. An assignment is three times as fast as a definition, but would call an
 * accessor of `Object.prototype` or fail at one of its read-only properties.
 */

/** `Object.prototype` has no accessor that an assignment would call, except `__proto__`. */
let isPlain = true;

/** Checks `Object.prototype` again: libraries may add accessors to it when they are loaded. */
export function lookAtPrototype(): void {
  const properties = Object.entries(Object.getOwnPropertyDescriptors(Object.prototype));
  isPlain = properties.every(([name, property]) => name === "__proto__" || Object.hasOwn(property, "value"));
}

lookAtPrototype();

/** Creates an ordinary own property with any name. */
export function setOwn(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== "__proto__" && (isPlain || !(name in Object.prototype))) {
    try {
      object[name] = value;
      return;
    } catch {
      // A read-only property of a frozen prototype.
    }
  }
  Object.defineProperty(object, name, { value, configurable: true, enumerable: true, writable: true });
}
