/** Names and codes of error classes, as programs and logs show them. */

interface ErrorClass {
  readonly name: string;
  readonly prototype: Error;
}

type Classes = Readonly<Record<string, ErrorClass>>;

/** Not "code" itself: an assignment to a property that a frozen prototype has fails. */
const CODE = Symbol("code");

/**
 * Sets the names of error classes, which minification has changed, and the names and codes of their errors.
 * @param name With null, the errors have the name of their class.
 * @param classes By the code of their errors.
 */
export function label<Code extends string>(
  name: string | null,
  classes: { readonly [code in Code]?: Classes },
): void {
  for (const [code, ofCode] of Object.entries<Classes | undefined>(classes))
    for (const [className, errorClass] of Object.entries(ofCode ?? {})) {
      // V8 takes twice as long to create an error of a class whose name was defined again.
      if (errorClass.name !== className)
        Object.defineProperty(errorClass, "name", { value: className, configurable: true });
      const { prototype } = errorClass;
      Object.defineProperty(prototype, "name", {
        value: name ?? className,
        configurable: true,
        writable: true,
      });
      Object.defineProperty(prototype, CODE, { value: code });
    }
}

/** The code of the errors of a labelled class, or of a subclass. */
export function codeOf<Code extends string>(prototype: Error): Code {
  return Reflect.get(prototype, CODE) as Code;
}
