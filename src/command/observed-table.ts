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
  const noting = (isDone: boolean, key: string | symbol): boolean => {
    if (isDone && typeof key === "string") onChange(key);
    return isDone;
  };
  return new Proxy(target, {
    // Assignments trigger this trap too.
    defineProperty: (table, key, descriptor) => noting(Reflect.defineProperty(table, key, descriptor), key),
    deleteProperty: (table, key) => noting(Reflect.deleteProperty(table, key), key),
  });
}
