/** Names of error classes, as programs and logs show them. */

/**
 * Sets the names of classes, which minification would change otherwise, and the name of their errors.
 * @param name Without it, the errors have the name of their class.
 */
export function label(classes: Readonly<Record<string, { readonly prototype: Error }>>, name?: string): void {
  for (const [className, errorClass] of Object.entries(classes)) {
    const { prototype } = errorClass;
    Object.defineProperty(errorClass, "name", { value: className, configurable: true });
    Object.defineProperty(prototype, "name", {
      value: name ?? className,
      configurable: true,
      writable: true,
    });
  }
}
