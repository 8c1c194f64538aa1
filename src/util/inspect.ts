/** The protocol with which `util.inspect` (and therefore `console.log`) asks an object for its displayed form. */

export const INSPECT: unique symbol = Symbol.for("nodejs.util.inspect.custom");

type Inspect = (value: unknown, style: object) => string;
/** The arguments of that method after the depth. */
export type InspectArguments = [style: object, inspect: Inspect];
