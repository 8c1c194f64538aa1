import { defaultOptions } from "./redis-options";
export function resolveRedisOptions(args: unknown[]): any {
  const o: any = {};
  for (const a of args) {
    if (typeof a === "number") o.port = a;
    else if (typeof a === "string") o.host = a;
    else Object.assign(o, a);
  }
  return { ...defaultOptions, ...o };
}
