/**
 * A public dictionary whose changes take effect immediately, through a method or by assignment. It has no
 * prototype, so a name such as `constructor` is an ordinary key.
 */

/** A dictionary filled with `initial`; `onChange` receives the key of every later change. */
export function observedTable<Value>(
  initial: Readonly<Record<string, Value>>,
  onChange: (key: string) => void,
): Record<string, Value | undefined> {
  const target: Record<string, Value | undefined> = Object.assign(Object.create(null), initial);
  return new Proxy(target, {
    // Assignments end here too.
    defineProperty(table, key, descriptor) {
      const isDone = Reflect.defineProperty(table, key, descriptor);
      if (isDone && typeof key === "string") onChange(key);
      return isDone;
    },
    deleteProperty(table, key) {
      const isDone = Reflect.deleteProperty(table, key);
      if (isDone && typeof key === "string") onChange(key);
      return isDone;
    },
  });
}
