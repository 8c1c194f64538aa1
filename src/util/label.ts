/** Names of error classes, as programs and logs show them. */

interface ErrorClass {
  readonly name: string;
  readonly prototype: Error;
}

/**
 * Sets the names of classes that minification has changed, and the name of their errors.
 * @param name Without it, the errors have the name of their class.
 */
export function label(classes: Readonly<Record<string, ErrorClass>>, name?: string): void {
  for (const [className, errorClass] of Object.entries(classes)) {
    const { prototype } = errorClass;
    // V8 takes twice as long to create an error of a class whose name was defined again.
    if (errorClass.name !== className)
      Object.defineProperty(errorClass, "name", { value: className, configurable: true });
    Object.defineProperty(prototype, "name", {
      value: name ?? className,
      configurable: true,
      writable: true,
    });
  }
}
