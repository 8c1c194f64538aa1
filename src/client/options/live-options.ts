/**
 * Options of a live client that hold for the next command when they are changed: their properties
 * are accessors, so that nothing has to ask for them with every command.
 */

type OptionRecord = Record<string, unknown>;

/** Calls `onChange` whenever one of these properties is set. */
export function watchOptions(options: object, names: readonly string[], onChange: () => void): void {
  for (const name of names) watchOption(options as OptionRecord, name, onChange);
}

function watchOption(options: OptionRecord, name: string, onChange: () => void): void {
  let value = options[name];
  const descriptor: PropertyDescriptor = {
    configurable: true,
    enumerable: Object.hasOwn(options, name),
    get: () => value,
    set: (next: unknown) => {
      value = next;
      // An option that was not given is not listed, until it is.
      if (!Object.getOwnPropertyDescriptor(options, name)?.enumerable) {
        Object.defineProperty(options, name, { enumerable: true });
      }
      onChange();
    },
  };
  Object.defineProperty(options, name, descriptor);
}
