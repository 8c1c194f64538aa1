/**
 * Options that take effect on a live client for the next command. Their properties are accessors, so that
 * commands do not have to check them. All clients share the accessors of a name, and therefore the shape of
 * their options; each options object holds its values.
 */

type OptionRecord = Record<string, unknown>;

interface Observer {
  readonly names: readonly string[];
  readonly onChange: (name: string) => void;
}

interface Live {
  readonly values: OptionRecord;
  observers: readonly Observer[];
}

/** The key under which an options object holds its live options; copying skips it. */
const LIVE: unique symbol = Symbol("live");

type LiveOptions = OptionRecord & { [LIVE]?: Live };

/** Accessors in every `Redis` from the start: replacing a value later costs kilobytes for each client. */
const ALWAYS_LIVE: ReadonlySet<string> = new Set([
  "enableAutoPipelining",
  "autoPipeliningIgnoredCommands",
  "commandTimeout",
  "blockingTimeout",
  "showFriendlyErrorStack",
  "socketTimeout",
]);

const accessors = new Map<string, PropertyDescriptor>();

/** Turns an object of defaults into the options of a `Redis`. `given` has all values. */
export function completeOptions(options: OptionRecord, given: OptionRecord): OptionRecord {
  for (const name of Object.keys(given)) if (!ALWAYS_LIVE.has(name)) options[name] = given[name];
  for (const name of ALWAYS_LIVE) define(options, name, given[name], Object.hasOwn(given, name));
  return options;
}

export function observeOptions(
  options: object,
  names: readonly string[],
  onChange: (name: string) => void,
): void {
  const record = options as LiveOptions;
  for (const name of names) {
    if (record[LIVE] === undefined || !Object.hasOwn(record[LIVE].values, name)) {
      define(record, name, record[name], Object.hasOwn(record, name));
    }
  }
  const live = record[LIVE] as Live;
  // A list that grows in place reserves room for 16 more.
  live.observers = live.observers.concat({ names, onChange });
}

/** An option that was not given is not enumerable until it is set. */
function define(options: LiveOptions, name: string, value: unknown, enumerable: boolean): void {
  if (!Object.hasOwn(options, LIVE)) {
    const live: Live = { values: {}, observers: [] };
    Object.defineProperty(options, LIVE, { value: live, writable: true, configurable: true });
  }
  (options[LIVE] as Live).values[name] = value;
  Object.defineProperty(options, name, { ...accessorOf(name), enumerable });
}

function accessorOf(name: string): PropertyDescriptor & ThisType<LiveOptions> {
  const accessor = accessors.get(name) ?? {
    configurable: true,
    get(this: LiveOptions) {
      return this[LIVE]?.values[name];
    },
    set(this: LiveOptions, next: unknown) {
      const { values, observers } = this[LIVE] as Live;
      values[name] = next;
      const isHidden = Object.getOwnPropertyDescriptor(this, name)?.enumerable === false;
      if (isHidden) Object.defineProperty(this, name, { enumerable: true });
      for (const { names, onChange } of observers) if (names.includes(name)) onChange(name);
    },
  };
  accessors.set(name, accessor);
  return accessor;
}
