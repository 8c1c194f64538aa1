/** Names of error classes, as programs and logs show them. */

/**
 * Sets the name of a class, which minification would change otherwise, and the name of its errors, which the
 * API fixes.
 */
export function label(errorClass: { readonly prototype: Error }, className: string, name: string): void {
  Object.defineProperty(errorClass, "name", { value: className, configurable: true });
  Object.defineProperty(errorClass.prototype, "name", { value: name, configurable: true, writable: true });
}
