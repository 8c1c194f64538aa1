/** Rewrites calls of node-redis in one file; the compiler tells which expressions are clients (client-types.mjs). */

import { readFileSync } from "node:fs";
import { ts } from "ts-morph";

/** The methods of this client, as the build found them. */
const { methods } = JSON.parse(readFileSync(new URL("../built/client.json", import.meta.url), "utf8"));
const METHODS = new Set(methods);

const MAKERS = new Set(["createClient", "createCluster", "createSentinel", "createClientPool"]);
/** node-redis goes there without an address. */
const DEFAULT_ADDRESS = '"redis://localhost:6379"';
/** Options of SET: with a value, and without. */
const SET_VALUES = new Set(["EX", "PX", "EXAT", "PXAT"]);
const SET_FLAGS = new Set(["NX", "XX", "GET", "KEEPTTL"]);
const STATES = new Set(["isOpen", "isReady"]);
const OLD_IMPORT = /["'](?:redis|@redis\/client)["']/;
const ENDINGS = { close: "quit", quit: "quit", destroy: "disconnect", disconnect: "disconnect" };
/** Methods with another name or another reply, which a person has to change. */
const OTHERWISE = {
  zRangeWithScores: 'zrange(…, "WITHSCORES"), which returns a flat list',
  subscribe: 'subscribe(channel) and on("message", (channel, message) => …)',
  pSubscribe: 'psubscribe(pattern) and on("pmessage", …)',
  sSubscribe: 'ssubscribe(channel) and on("smessage", …)',
  exec: "the rows [error, value], one for each command. Check each error. If a watched key has changed, exec() resolves with null instead of a WatchError",
  execTyped: "the rows [error, value], one for each command. Check each error",
  execAsPipeline: "pipeline() … exec(), which returns rows [error, value], one for each command",
  withTypeMapping: "the ...Buffer methods, or with({ replies })",
  withCommandOptions: "with({ timeout, signal })",
  withAbortSignal: "with({ signal })",
  legacy: "a callback as the last argument of any method",
  executeIsolated: "withConnection(fn)",
};
/** Iterators over keys or elements: the method here, and the body of the loop over one of its arrays. */
const ITERATORS = {
  scanIterator: ["scanStream", "keys", "for (const key of keys) …"],
  sScanIterator: ["sscanStream", "members", "for (const member of members) …"],
  hScanIterator: [
    "hscanStream",
    "list",
    "for (let i = 0; i < list.length; i += 2) { const [field, value] = list.slice(i, i + 2); … }",
  ],
  zScanIterator: [
    "zscanStream",
    "list",
    "for (let i = 0; i < list.length; i += 2) { const [member, score] = list.slice(i, i + 2); … }",
  ],
};
const ENTRIES = "[[id, [field, value, …]], …]";
const STREAMS = `[[stream, ${ENTRIES}], …]`;
const SCORES = "[member, score, …]";
/** Replies that node-redis returns as numbers. */
const NUMBERS = new Set(["zincrby", "zmscore", "zscore"]);
/** Replies that node-redis returns as objects, by the name of the method here. */
const REPLIES = {
  blpop: "[key, element]",
  brpop: "[key, element]",
  bzpopmax: "[key, member, score]",
  bzpopmin: "[key, member, score]",
  hscan: "[cursor, list]",
  scan: "[cursor, list]",
  sscan: "[cursor, list]",
  xautoclaim: `[cursor, ${ENTRIES}, deleted]`,
  xclaim: ENTRIES,
  xrange: ENTRIES,
  xread: STREAMS,
  xreadgroup: STREAMS,
  xrevrange: ENTRIES,
  zpopmax: SCORES,
  zpopmin: SCORES,
  zscan: "[cursor, list]",
};

export class Rewriter {
  constructor(types, file, text, isProjectMoved) {
    this.types = types;
    this.file = file;
    this.text = text;
    /** A file that an earlier run rewrote: its clients are those of this package. */
    this.isMoved = isProjectMoved && !OLD_IMPORT.test(text);
    this.source = types.source(file);
    /** Conditions that go with what they govern. */
    this.dropped = new Set();
    this.edits = [];
    this.notes = [];
    this.hasUnknownMaker = false;
  }

  /** The text with its mechanical calls rewritten, one line for each change, and what is left to people. */
  rewrite() {
    this.visit(this.source, (node) => this.change(node));
    this.changeImports();
    return this.result();
  }

  visit(node, look) {
    look(node);
    ts.forEachChild(node, (child) => this.visit(child, look));
  }

  line(node) {
    return this.source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
  }

  note(node, text) {
    this.notes.push({ line: this.line(node), text });
  }

  replace(node, by) {
    this.edits.push({ start: node.getStart(), end: node.getEnd(), by });
  }

  isClient(node) {
    return this.types.isClient(node);
  }

  /** A client, a transaction of one, or a chain of calls that began with either. */
  isChain(node) {
    if (this.isClient(node) || this.types.isTransaction(node)) return true;
    if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return false;
    return !this.isClient(node.expression.expression) && this.isChain(node.expression.expression);
  }

  change(node) {
    if (ts.isIfStatement(node) && this.isConnectIfClosed(node)) {
      this.dropped.add(node.expression);
      this.dropStatement(node);
      return;
    }
    if (ts.isPropertyAccessExpression(node)) this.noteState(node);
    if (!ts.isCallExpression(node)) return;
    if (ts.isIdentifier(node.expression) && MAKERS.has(node.expression.text)) {
      this.changeMaker(node);
      return;
    }
    if (!ts.isPropertyAccessExpression(node.expression)) return;
    const { expression, name } = node.expression;
    if (name.text === "connect" && this.isClient(expression)) {
      this.dropConnect(node, expression);
      return;
    }
    if (!this.isChain(expression)) return;
    this.changeCall(node, name);
  }

  /** `if (!client.isOpen) await client.connect();`, with or without braces, and nothing else in it. */
  isConnectIfClosed({ expression: condition, thenStatement, elseStatement }) {
    if (elseStatement !== undefined || !ts.isPrefixUnaryExpression(condition)) return false;
    if (condition.operator !== ts.SyntaxKind.ExclamationToken || !this.isState(condition.operand))
      return false;
    const isBlock = ts.isBlock(thenStatement);
    if (isBlock && thenStatement.statements.length !== 1) return false;
    const only = isBlock ? thenStatement.statements[0] : thenStatement;
    if (!ts.isExpressionStatement(only)) return false;
    let call = only.expression;
    while (ts.isAwaitExpression(call) || ts.isVoidExpression(call)) call = call.expression;
    if (!ts.isCallExpression(call) || !ts.isPropertyAccessExpression(call.expression)) return false;
    return call.expression.name.text === "connect" && this.isClient(call.expression.expression);
  }

  isState(node) {
    return (
      ts.isPropertyAccessExpression(node) && STATES.has(node.name.text) && this.isClient(node.expression)
    );
  }

  noteState(node) {
    if (!this.isState(node) || this.dropped.has(node.parent)) return;
    this.note(node, `${node.name.text}: use status === "ready"; commands wait until the client is ready`);
  }

  dropConnect(node, expression) {
    let statement = node.parent;
    while (ts.isAwaitExpression(statement) || ts.isVoidExpression(statement)) statement = statement.parent;
    const isStatement = ts.isExpressionStatement(statement) && !ts.isCallExpression(expression);
    const isInBlock = ts.isBlock(statement.parent) || ts.isSourceFile(statement.parent);
    if (isStatement && isInBlock) this.dropStatement(statement);
    // What an `if` governs stays a statement, or it would govern the next one.
    else if (isStatement) this.replace(statement, "{}");
    else this.edits.push({ start: expression.getEnd(), end: node.getEnd(), by: "" });
  }

  /** With its line, if nothing else stands there. */
  dropStatement(node) {
    const { text } = this;
    const start = text.lastIndexOf("\n", node.getStart() - 1) + 1;
    const next = text.indexOf("\n", node.getEnd());
    const end = next < 0 ? text.length : next + 1;
    const isAlone = text.slice(start, end).trim() === node.getText();
    if (isAlone) this.edits.push({ start, end, by: "" });
    else this.replace(node, "");
  }

  changeMaker(node) {
    const [options] = node.arguments;
    const made = node.expression.text === "createClient" ? this.optionsOf(options) : null;
    if (made === null) {
      this.hasUnknownMaker = true;
      this.note(node, `${node.expression.text}(): rename the options as in the table of the page`);
    } else this.replace(node, `new Redis(${made})`);
  }

  /** What `new Redis()` takes in the place of the options, or null if people have to look. */
  optionsOf(options) {
    if (options === undefined) return "";
    if (!ts.isObjectLiteralExpression(options)) return null;
    const fields = this.fieldsOf(options);
    if (fields === null) return null;
    const names = Object.keys(fields);
    if (names.length === 1 && names[0] === "url") return this.addressOf(fields.url);
    const made = [];
    for (const [name, value] of Object.entries(fields)) {
      if (name === "username" || name === "password") made.push(`${name}: ${value.getText()}`);
      else if (name === "database") made.push(`db: ${value.getText()}`);
      else if (name === "socket" && ts.isObjectLiteralExpression(value)) {
        const socket = this.fieldsOf(value) ?? { unknown: value };
        for (const [key, one] of Object.entries(socket)) {
          if (!["host", "port", "path"].includes(key)) return null;
          made.push(`${key}: ${one.getText()}`);
        }
      } else return null;
    }
    return `{ ${made.join(", ")} }`;
  }

  /** A variable of the environment may be undefined, which `new Redis()` does not take for an address. */
  addressOf(node) {
    const text = node.getText();
    return /^process\.env(?:\.\w+|\[[^\]]+\])$/.test(text) ? `${text} ?? ${DEFAULT_ADDRESS}` : text;
  }

  /** Values by name; null where a name is computed or something is spread. */
  fieldsOf(object) {
    const fields = {};
    for (const property of object.properties) {
      if (ts.isShorthandPropertyAssignment(property)) fields[property.name.text] = property.name;
      else if (ts.isPropertyAssignment(property) && !ts.isComputedPropertyName(property.name)) {
        fields[property.name.text] = property.initializer;
      } else return null;
    }
    return fields;
  }

  changeCall(node, name) {
    const method = name.text;
    if (method in ENDINGS && this.isClient(node.expression.expression)) {
      if (ENDINGS[method] !== method) this.replace(name, ENDINGS[method]);
      return;
    }
    if (method in ITERATORS) {
      this.note(node, `${method}(): use ${this.loopOf(node, ITERATORS[method])}`);
      return;
    }
    if (method in OTHERWISE) {
      // What exists in both may have been mended since the file was moved.
      if (this.isMoved && METHODS.has(method)) return;
      this.note(node, `${method}(): use ${OTHERWISE[method]}`);
      return;
    }
    if (method === "sendCommand") return this.changeRaw(node, name);
    const lower = method.toLowerCase();
    if (!METHODS.has(lower)) return;
    if (lower !== method) this.replace(name, lower);
    // A name that still has to change shows that no person has looked at the reply yet.
    if (lower in REPLIES && (lower !== method || !this.isMoved)) {
      this.note(node, `${method}(): sluice replies with arrays instead of objects: ${REPLIES[lower]}`);
    }
    if (NUMBERS.has(lower) && lower !== method) {
      this.note(
        node,
        `${method}(): sluice replies with text instead of numbers, unless replyMapping is "resp3"`,
      );
    }
    this.changeArguments(node, lower);
  }

  /** The loop that replaces an iterator, with the arguments of the call. */
  loopOf(node, [method, name, body]) {
    const passed = node.arguments.map((one) => this.scanOptions(one)).join(", ");
    const client = node.expression.expression.getText();
    return `for await (const ${name} of ${client}.${method}(${passed})) { ${body} }`;
  }

  /** The options of a scan, whose names are in lower case here; other arguments stay as they are. */
  scanOptions(node) {
    const fields = ts.isObjectLiteralExpression(node) ? this.fieldsOf(node) : null;
    if (fields === null) return node.getText();
    const made = Object.entries(fields).map(([key, value]) => `${key.toLowerCase()}: ${value.getText()}`);
    return `{ ${made.join(", ")} }`;
  }

  changeRaw(node, name) {
    const [list] = node.arguments;
    if (node.arguments.length !== 1 || !ts.isArrayLiteralExpression(list)) {
      this.note(node, "sendCommand(): use call(name, …arguments)");
      return;
    }
    this.replace(name, "call");
    this.replace(list, list.elements.map((one) => one.getText()).join(", "));
  }

  changeArguments(node, method) {
    const last = node.arguments.at(-1);
    const made = this.madeArguments(method, node.arguments);
    if (made !== undefined) {
      const [first] = made.replaced;
      this.edits.push({ start: first.getStart(), end: made.replaced.at(-1).getEnd(), by: made.by });
      return;
    }
    const takesObjects = ["hset", "hmset", "mset", "msetnx", "on", "once"].includes(method);
    if (last !== undefined && ts.isObjectLiteralExpression(last) && !takesObjects) {
      this.note(
        node,
        `${method}() with an option object: pass the arguments of the Redis command in its order`,
      );
    }
  }

  /** The arguments that are replaced, and by which text; undefined if they stay. */
  madeArguments(method, all) {
    const last = all.at(-1);
    if (method === "set" && all.length === 3 && ts.isObjectLiteralExpression(last)) {
      const words = this.setWords(last);
      return words === null ? undefined : { replaced: [last], by: words };
    }
    if (method === "zadd" && all.length === 2) {
      const members = ts.isArrayLiteralExpression(last) ? [...last.elements] : [last];
      const pairs = members.map((member) => this.memberOf(member));
      return pairs.includes(null) || pairs.length === 0
        ? undefined
        : { replaced: [last], by: pairs.join(", ") };
    }
    if (method === "xadd" && all.length === 3 && ts.isObjectLiteralExpression(last)) {
      const fields = this.fieldsOf(last);
      if (fields === null) return undefined;
      const words = Object.entries(fields).map(
        ([key, value]) => `${JSON.stringify(key)}, ${value.getText()}`,
      );
      return { replaced: [last], by: words.join(", ") };
    }
    return undefined;
  }

  memberOf(node) {
    const fields = ts.isObjectLiteralExpression(node) ? this.fieldsOf(node) : null;
    if (fields?.score === undefined || fields.value === undefined || Object.keys(fields).length !== 2)
      return null;
    return `${fields.score.getText()}, ${fields.value.getText()}`;
  }

  /** The words of SET for an option object of either version; null if one of them is not known. */
  setWords(object) {
    const fields = this.fieldsOf(object);
    if (fields === null) return null;
    const words = [];
    for (const [name, value] of Object.entries(fields)) {
      if (SET_VALUES.has(name)) words.push(`"${name}", ${value.getText()}`);
      else if (SET_FLAGS.has(name) && value.kind === ts.SyntaxKind.TrueKeyword) words.push(`"${name}"`);
      else if (name === "condition" && ts.isStringLiteral(value)) words.push(value.getText());
      else if (name === "expiration" && ts.isObjectLiteralExpression(value)) {
        const { type, value: time } = this.fieldsOf(value) ?? {};
        if (type === undefined || !ts.isStringLiteral(type)) return null;
        words.push(time === undefined ? type.getText() : `${type.getText()}, ${time.getText()}`);
      } else return null;
    }
    return words.join(", ");
  }

  changeImports() {
    if (this.hasUnknownMaker) return;
    for (const statement of this.source.statements) {
      if (ts.isImportDeclaration(statement)) this.changeImport(statement);
      if (ts.isVariableStatement(statement)) this.changeRequire(statement);
    }
  }

  isPackage(node) {
    return node !== undefined && ts.isStringLiteral(node) && ["redis", "@redis/client"].includes(node.text);
  }

  changeImport(statement) {
    if (!this.isPackage(statement.moduleSpecifier)) return;
    const named = statement.importClause?.namedBindings;
    const names = named?.elements?.map(({ name }) => name.text) ?? [];
    const isSimple = statement.importClause?.name === undefined && names.length > 0;
    if (!isSimple || names.some((name) => name !== "createClient" && name !== "RedisClientType")) {
      this.note(statement, 'an import of node-redis: use import Redis from "sluice"');
      return;
    }
    const isType = statement.importClause.isTypeOnly ? "type " : "";
    this.replace(statement, `import ${isType}Redis from "sluice";`);
    this.visit(this.source, (node) => {
      if (ts.isTypeReferenceNode(node) && node.typeName.getText() === "RedisClientType") {
        this.replace(node, "Redis");
      }
    });
  }

  changeRequire(statement) {
    const [declaration] = statement.declarationList.declarations;
    const call = declaration?.initializer;
    if (call === undefined || !ts.isCallExpression(call) || call.expression.getText() !== "require") return;
    if (!this.isPackage(call.arguments[0])) return;
    const text = declaration.name.getText().replaceAll(/\s/g, "");
    if (text === "{createClient}") this.replace(statement, 'const Redis = require("sluice");');
    else this.note(statement, 'a require of node-redis: use const Redis = require("sluice")');
  }

  result() {
    const { text } = this;
    const edits = this.edits.sort((a, b) => a.start - b.start || b.end - a.end);
    let after = "";
    let at = 0;
    const lines = [];
    for (const { start, end, by } of edits) {
      if (start < at) continue;
      const line = text.slice(0, start).split("\n").length;
      lines.push(
        `${line}: ${text.slice(start, end).trim().replaceAll(/\s+/g, " ")} → ${by === "" ? "(nothing)" : by}`,
      );
      after += text.slice(at, start) + by;
      at = end;
    }
    return { after: after + text.slice(at), lines, notes: this.notes };
  }
}
