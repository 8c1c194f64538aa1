import type { ErrorCommand } from "../errors";
export function describeCommand(name: string, args: readonly (string | Buffer)[]): ErrorCommand {
  return { name, args };
}
