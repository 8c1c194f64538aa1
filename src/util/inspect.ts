/** How `util.inspect` (and so `console.log`) is told what to show of an object. */

/** Key of the method that is asked. */
export const INSPECT: unique symbol = Symbol.for("nodejs.util.inspect.custom");

type Inspect = (value: unknown, style: object) => string;
/** The arguments of that method after the depth. */
export type InspectArguments = [style: object, inspect: Inspect];
