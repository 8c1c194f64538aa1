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
/** Shorter credentials that stand without quotes may be anything. */
const SHORTEST_SOUGHT = 4;
/** The marks that a server puts around an argument that it echoes. */
const QUOTES = "'\"\u0060";
/**
 * Words of what servers say about commands that carry credentials. A mask in their place would tell
 * that the credential is the word that stands there in everybody's message.
 */
const SERVER_WORDS = new Set(
  (
    "wrongpass noauth noperm noproto err denied acl add address aka already any are argument arguments as at auth " +
    "authenticated authentication be been beginning but called can cannot categories category channel channels cluster " +
    "command commands config configuration configured connect connection contain correct default denied disabled does " +
    "doesn't error exceeds exist exists failed find for format from group has hash have hello host if in incorrect " +
    "invalid ip is key keys length line long malformed master match maybe migrate mismatch missing mode modifier must no node not " +
    "number of off on one only operation option options or out pair parameter parse pass password passwords pattern " +
    "permissions permitted please port possibly protected protocol proto range redis related removed required " +
    "requirepass reset rule rules running same secret sentinel server set setting setuser should sizes sleep string sure " +
    "subcommand support supported syntax than that the then this timeout to token too try unknown unsupported use used " +
    "user username users valkey valid value version was when with without wrong you your"
  ).split(" "),
);

const FINDERS: Record<string, Finder> = {
  __proto__: null as unknown as Finder,
  auth: (args) => (args.length < 2 ? indexes(args, 0) : indexes(args, 1)),
  hello: findInHello,
  config: (args) => (isWord(args[0], "set") ? findSettings(args, 1) : NONE),
  acl: (args) => (isWord(args[0], "setuser") ? findPasswordRules(args) : NONE),
  migrate: findInMigrate,
  sentinel: findInSentinel,
};

/** A command as errors show it: credentials are masked. */
interface ShownCommand {
  readonly name: string;
  readonly args: readonly Argument[];
}

// Names are few; the bound is for callers who make them up.
const MAX_NAMES = 1000;
/** Names of commands that carry no credentials, as they were looked up. Very many commands may fail together. */
const harmless = new Set<string>();

/** The command with its credentials masked; the very arguments when there is nothing to hide. */
export function describeCommand(name: string, args: readonly Argument[]): ShownCommand {
  if (harmless.has(name)) return { name, args };
  if (harmless.size < MAX_NAMES && FINDERS[name.toLowerCase()] === undefined && !PHRASE.test(name))
    harmless.add(name);
  return { name: maskName(name, args), args: maskCredentials(name, args) };
}

/** Positions of the arguments that are credentials. Do not change the array. */
export function credentialPositions(commandName: string, args: readonly unknown[]): readonly number[] {
  const find = FINDERS[commandName.toLowerCase()];
  if (find !== undefined) return withRepetitions(find(args), args);
  if (!PHRASE.test(commandName)) return NONE;
  const { found, count } = findInPhrase(commandName, args);
  return found.map((position) => position - count).filter((position) => position >= 0);
}

/** The name of a command as it may be shown: a whole line given as the name can hold credentials too. */
export function maskName(commandName: string, args: readonly unknown[]): string {
  return PHRASE.test(commandName) ? maskWords(commandName, findInPhrase(commandName, args)) : commandName;
}

/** The arguments with their credentials masked; the very array when there is nothing to hide. */
function maskCredentials(commandName: string, args: readonly Argument[]): readonly Argument[] {
  const positions = credentialPositions(commandName, args);
  if (positions.length === 0) return args;
  const masked = args.slice();
  for (const position of positions) masked[position] = maskOne(commandName, String(args[position]));
  return masked;
}

/**
 * Masks the credentials that a text (an error message of the server, say) repeats as arguments.
 * The server's own words stay, also where they are the credential.
 */
export function maskInText(text: string, commandName: string, args: readonly unknown[]): string {
  const positions = credentialPositions(commandName, args);
  const name = maskName(commandName, args);
  if (positions.length === 0 && name === commandName) return text;
  if (name !== commandName) text = text.split(commandName).join(name);
  // Servers cut the list off anywhere, so that a part of a credential may stand at its end.
  text = text.replace(/(with args beginning with:).*$/s, `$1 ${MASK}`);
  for (const position of positions) {
    const secret = secretOf(commandName, String(args[position]));
    if (secret.length > 0 && secret.toLowerCase() !== commandName.toLowerCase()) {
      text = maskEchoes(text, secret);
    }
  }
  return text;
}

/** Masks a credential where it stands as an argument does: in quotes, or as a word that is none of the server's. */
function maskEchoes(text: string, secret: string): string {
  const isOwnWord = secret.length >= SHORTEST_SOUGHT && !consistsOfServerWords(secret);
  let masked = "";
  let from = 0;
  for (let at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, from)) {
    const end = at + secret.length;
    const isEcho = isQuoted(text, at, end) || (isOwnWord && isDelimited(text, at, end));
    masked += text.slice(from, at) + (isEcho ? MASK : secret);
    from = end;
  }
  return masked + text.slice(from);
}

function consistsOfServerWords(secret: string): boolean {
  return secret
    .toLowerCase()
    .split(/[^a-z0-9']+/)
    .every((word) => word === "" || SERVER_WORDS.has(word));
}

/** The sign in front of a password of ACL SETUSER stands inside of the quotes. */
function isQuoted(text: string, at: number, end: number): boolean {
  const before = /[<>#!]/.test(text.charAt(at - 1)) ? text.charAt(at - 2) : text.charAt(at - 1);
  return before !== "" && QUOTES.includes(before) && text.charAt(end) === before;
}

function isDelimited(text: string, at: number, end: number): boolean {
  return !/\w\w/.test(text.slice(at - 1, at + 1)) && !/\w\w/.test(text.slice(end - 1, end + 1));
}

/** A user name may be the password too: hidden in one place and shown in the other, it is told. */
function withRepetitions(found: number[], args: readonly unknown[]): number[] {
  if (found.length === 0) return found;
  const secrets = new Set(found.map((position) => String(args[position])));
  const all: number[] = [];
  for (let i = 0; i < args.length; i++) if (secrets.has(String(args[i]))) all.push(i);
  return all;
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
