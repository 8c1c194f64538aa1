/**
 * What `with()` returns: an object that inherits everything from its client, so that it has the
 * same methods, scripts included, over the same connections. What belongs to the client as a
 * whole (listeners, new commands and scripts) is passed on to it.
 */

/** Methods that change or read the state that the client keeps on itself. */
const OF_THE_CLIENT = [
  "on",
  "once",
  "off",
  "emit",
  "addListener",
  "removeListener",
  "removeAllListeners",
  "prependListener",
  "prependOnceListener",
  "listeners",
  "rawListeners",
  "listenerCount",
  "eventNames",
  "setMaxListeners",
  "getMaxListeners",
  "defineCommand",
  "addBuiltinCommand",
] as const;

type AnyMethod = (...args: unknown[]) => unknown;

/** The common prototype of all views of a client. */
export function makeViewPrototype<Client extends object>(client: Client): Client {
  const prototype = Object.create(client) as Client;
  for (const name of OF_THE_CLIENT) {
    const method = (client as unknown as Record<string, AnyMethod>)[name];
    if (method === undefined) continue;
    Object.defineProperty(prototype, name, {
      configurable: true,
      writable: true,
      value(this: Client, ...args: unknown[]) {
        const result = method.apply(client, args);
        return result === client ? this : result;
      },
    });
  }
  return prototype;
}
