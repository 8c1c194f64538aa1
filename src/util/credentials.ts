/**
 * Knows where commands carry credentials: the one list behind error objects, tracing payloads,
 * debug output and `util.inspect`. Names match in any letter case. For a command that carries
 * none the answer is an empty list after one look into a small table.
 */

export type Argument = string | Buffer;

/** Put in the place of a credential. */
export const MASK = "***";

type Finder = (args: readonly unknown[]) => number[];

const NONE: number[] = [];
/** A name of several words, as in `call("config set", ...)`: sent as it is, and refused. */
const PHRASE = /\s/;
const SECRET_SETTING = /pass|auth$|secret|token/i;
/** Shorter credentials would be found inside of words. */
const SHORTEST_SOUGHT = 4;

const FINDERS: Record<string, Finder> = {
  __proto__: null as unknown as Finder,
  auth: (args) => (args.length < 2 ? indexes(args, 0) : indexes(args, 1)),
  hello: findInHello,
  config: (args) => (isWord(args[0], "set") ? findSettings(args, 1) : NONE),
  acl: (args) => (isWord(args[0], "setuser") ? findPasswordRules(args) : NONE),
  migrate: findInMigrate,
  sentinel: findInSentinel,
};

/** Positions of the arguments that are credentials. Do not change the array. */
export function credentialPositions(commandName: string, args: readonly unknown[]): readonly number[] {
  const find = FINDERS[commandName.toLowerCase()];
  if (find !== undefined) return find(args);
  if (!PHRASE.test(commandName)) return NONE;
  const { found, count } = findInPhrase(commandName, args);
  return found.map((position) => position - count).filter((position) => position >= 0);
}

/** The name of a command as it may be shown: a whole line given as the name can hold credentials too. */
export function maskName(commandName: string, args: readonly unknown[]): string {
  return PHRASE.test(commandName) ? maskWords(commandName, findInPhrase(commandName, args)) : commandName;
}

/** The arguments with their credentials masked; the very array when there is nothing to hide. */
export function maskCredentials(commandName: string, args: readonly Argument[]): readonly Argument[] {
  const positions = credentialPositions(commandName, args);
  if (positions.length === 0) return args;
  const masked = args.slice();
  for (const position of positions) masked[position] = maskOne(commandName, String(args[position]));
  return masked;
}

/** Masks the credentials that a text (an error message of the server, say) repeats. */
export function maskInText(text: string, commandName: string, args: readonly unknown[]): string {
  const positions = credentialPositions(commandName, args);
  const name = maskName(commandName, args);
  if (positions.length === 0 && name === commandName) return text;
  text = text.split(commandName).join(name);
  // Servers cut the list off anywhere, so that a part of a credential may stand at its end.
  text = text.replace(/(with args beginning with:).*$/s, `$1 ${MASK}`);
  for (const position of positions) {
    const secret = secretOf(commandName, String(args[position]));
    if (secret.length >= SHORTEST_SOUGHT) text = text.split(secret).join(MASK);
  }
  return text;
}

// The sign before the password says what the rule does; it is no secret.
function maskOne(commandName: string, argument: string): string {
  return isPasswordRule(commandName, argument) ? argument.charAt(0) + MASK : MASK;
}

function secretOf(commandName: string, argument: string): string {
  return isPasswordRule(commandName, argument) ? argument.slice(1) : argument;
}

function isPasswordRule(commandName: string, argument: string): boolean {
  return /^acl/i.test(commandName) && /^[<>#!]/.test(argument);
}

/** Positions among all words, those of the name included; `count` of them belong to the name. */
interface PhraseFinding {
  readonly found: readonly number[];
  readonly count: number;
}

function findInPhrase(commandName: string, args: readonly unknown[]): PhraseFinding {
  const [first = "", ...rest] = commandName.trim().split(/\s+/);
  return { found: FINDERS[first.toLowerCase()]?.([...rest, ...args]) ?? NONE, count: rest.length };
}

function maskWords(commandName: string, { found, count }: PhraseFinding): string {
  if (found.every((position) => position >= count)) return commandName;
  const [first = "", ...rest] = commandName.trim().split(/\s+/);
  for (const position of found) if (position < count) rest[position] = MASK;
  return [first, ...rest].join(" ");
}

// HELLO [version [AUTH user password] [SETNAME name]]
function findInHello(args: readonly unknown[]): number[] {
  for (let i = 0; i < args.length; i++) {
    if (!isWord(args[i], "auth")) continue;
    const position = i + 2 < args.length ? i + 2 : i + 1;
    return position < args.length ? [position] : NONE;
  }
  return NONE;
}

// CONFIG SET name value [name value ...]
function findSettings(args: readonly unknown[], from: number): number[] {
  const found: number[] = [];
  for (let i = from; i + 1 < args.length; i += 2) {
    if (SECRET_SETTING.test(String(args[i]))) found.push(i + 1);
  }
  return found;
}

// ACL SETUSER name rule ...; passwords are >added <removed, hashes #added !removed
function findPasswordRules(args: readonly unknown[]): number[] {
  const found: number[] = [];
  for (let i = 2; i < args.length; i++) {
    if (/^[<>#!]/.test(String(args[i]))) found.push(i);
  }
  return found;
}

// MIGRATE host port key db timeout [COPY] [REPLACE] [AUTH password | AUTH2 user password] [KEYS ...]
function findInMigrate(args: readonly unknown[]): number[] {
  for (let i = 5; i < args.length; i++) {
    if (isWord(args[i], "keys")) return NONE;
    if (isWord(args[i], "auth")) return indexes(args, i + 1).slice(0, 1);
    if (isWord(args[i], "auth2")) return indexes(args, i + 2).slice(0, 1);
  }
  return NONE;
}

// SENTINEL SET group name value ...; SENTINEL CONFIG SET name value ...
function findInSentinel(args: readonly unknown[]): number[] {
  if (isWord(args[0], "set")) return findSettings(args, 2);
  if (isWord(args[0], "config") && isWord(args[1], "set")) return findSettings(args, 2);
  return NONE;
}

function isWord(value: unknown, word: string): boolean {
  return value !== undefined && String(value).toLowerCase() === word;
}

function indexes(args: readonly unknown[], from: number): number[] {
  const found: number[] = [];
  for (let i = from; i < args.length; i++) found.push(i);
  return found;
}
