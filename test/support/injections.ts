/** Counts the faults that a file injects and says so in one line at its end; test/README.md has the figures. */

export interface Injections {
  add(count?: number): void;
}

/** To be called inside of `describe`. */
export function countInjections(what: string): Injections {
  let count = 0;
  after(() => console.log(`      injected: ${count} ${what}`));
  return {
    add: (more = 1): void => {
      count += more;
    },
  };
}
