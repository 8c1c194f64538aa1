/**
 * Hides credentials: the one rule behind error objects, tracing payloads, debug output and `util.inspect`. All
 * arguments of a command that can contain credentials are masked, and so are their repetitions in its error
 * message. Names match in any letter case.
 */

export type Argument = string | Buffer;

export const MASK = "***";

/** Commands with arguments that may be credentials. Of the CONFIG commands only SET. */
const CARRIER = /^\s*(?:(?:auth|hello|acl|migrate|sentinel)(?!\S)|config\s+set(?!\S)|(config)\s*$)/i;
/** A name with spaces, as in `call("config set", ...)`, which the server rejects. */
const PHRASE = /\s/;
/** A shorter argument can be a part of any word: it is masked only as a separate word. */
const SHORTEST_PART = 4;
const QUOTE = /['"`]/;
/** Error messages of servers that contain no argument; programs compare them. */
const FIXED_MESSAGE = new RegExp(
  `^(?:${[
    "WRONGPASS invalid username-password pair or user is disabled\\.",
    "NOAUTH Authentication required\\.",
    "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time",
    "NOPROTO unsupported protocol version",
    "NOPERM (?:this user has no permissions|User [^ ]+ has no permissions) to run the '[a-z|]+' command(?: or its subcommand)?",
    "BUSYKEY Target key name already exists\\.",
    "IOERR error or timeout [a-z ]+",
    "ERR invalid password",
    "ERR No such master with that name",
    "ERR Client sent AUTH, but no password is set",
    "ERR AUTH <password> called without any password configured for the default user\\. Are you sure your configuration is correct\\?",
    "ERR wrong number of arguments for '[a-z|]+' command",
    "ERR max number of clients reached",
  ].join("|")})$`,
);

/** The command that an error belongs to. The arguments of commands that can carry credentials are masked. */
export interface ErrorCommand {
  readonly name: string;
  readonly args: readonly (string | Buffer)[];
}

export function carriesCredentials(name: string, args: readonly unknown[]): boolean {
  const found = CARRIER.exec(name);
  if (found === null) return false;
  const [, config] = found;
  return config === undefined || String(args[0]).toLowerCase() === "set";
}

/** The command with its credentials masked; the original arguments if there is nothing to hide. */
export function describeCommand(name: string, args: readonly Argument[]): ErrorCommand {
  if (!carriesCredentials(name, args)) return { name, args };
  return { name: maskName(name, args), args: args.map(() => MASK) };
}

/** The displayed name of a command. A name with spaces can contain credentials. */
export function maskName(name: string, args: readonly unknown[]): string {
  if (!PHRASE.test(name) || !carriesCredentials(name, args)) return name;
  const [first = ""] = name.trim().split(PHRASE);
  return `${first} ${MASK}`;
}

/** An error message about a command without repetitions of the arguments: the rest of the message is masked. */
export function maskInText(text: string, name: string, args: readonly unknown[]): string {
  if (!carriesCredentials(name, args) || FIXED_MESSAGE.test(text)) return text;
  const words = [...args, ...(PHRASE.test(name) ? name.trim().split(/\s+/).slice(1) : [])].map(String);
  let end = text.search(QUOTE);
  for (const word of words) {
    const at = positionOf(word, text);
    if (at >= 0 && (end < 0 || at < end)) end = at;
  }
  return end < 0 ? text : text.slice(0, end) + MASK;
}

function positionOf(word: string, text: string): number {
  if (word === "") return -1;
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    const end = at + word.length;
    const isPart = /\w\w/.test(text.slice(at - 1, at + 1)) || /\w\w/.test(text.slice(end - 1, end + 1));
    if (!isPart || word.length >= SHORTEST_PART) return at;
  }
  return -1;
}
