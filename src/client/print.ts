/** Logs `Error: <error>` or `Reply: <reply>`. */
export function print(error: Error | null, reply?: unknown): void {
  if (error) console.log(`Error: ${error}`);
  else console.log(`Reply: ${String(reply)}`);
}
