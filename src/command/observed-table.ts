/**
 * A public dictionary whose changes take effect at once, whether they come through a method or
 * by assignment. Without prototype: a word such as `constructor` is an ordinary key of it.
 */

/** A dictionary of its own, filled with `initial`; `onChange` hears the key of every later change. */
export function observedTable<Value>(
  initial: Readonly<Record<string, Value>>,
  onChange: (key: string) => void,
): Record<string, Value | undefined> {
  const target: Record<string, Value | undefined> = Object.assign(Object.create(null), initial);
  return new Proxy(target, {
    // An assignment ends here too.
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
