/** Names of the classes of errors, as programs and logs show them. */

/**
 * Gives a class its name, which would not survive minification otherwise, and its errors the
 * name that the API fixes for them.
 */
export function label(errorClass: { readonly prototype: Error }, className: string, name: string): void {
  Object.defineProperty(errorClass, "name", { value: className, configurable: true });
  Object.defineProperty(errorClass.prototype, "name", { value: name, configurable: true, writable: true });
}
