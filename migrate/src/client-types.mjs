/**
 * Tells which expressions of a program are clients: the compiler follows names, files and promises, with declarations of
 * node-redis that need no installed package.
 */

import { Project, ts } from "ts-morph";

const CLIENT = "NodeRedisClient";
const TRANSACTION = "NodeRedisMulti";
const client = (name) => `
  class ${name} {
    on(...args: any[]): this;
    once(...args: any[]): this;
    connect(): Promise<this>;
    duplicate(...args: any[]): this;
    multi(): ${TRANSACTION};
    readonly isOpen: boolean;
    readonly isReady: boolean;
    [method: string]: any;
  }`;
const types = ["Client", "Cluster", "Sentinel", "ClientPool"].map(
  (name) => `type Redis${name}Type<A = any, B = any, C = any, D = any, E = any> = ${CLIENT};`,
);
const makers = ["Client", "Cluster", "Sentinel", "ClientPool"].map(
  (name) => `function create${name}(...args: any[]): ${CLIENT};`,
);
/** A file that an earlier run rewrote has clients of this package. */
const DECLARATIONS = `
interface ${TRANSACTION} { [method: string]: any }
declare ${client(CLIENT)}
declare module "redis" { ${[...types, ...makers].join("\n")} }
declare module "@redis/client" { export * from "redis"; }
declare module "sluice" {
  class Redis extends ${CLIENT} { constructor(...args: any[]); }
  namespace Redis { export { Redis, Redis as default }; }
  export = Redis;
}
`;
const OPTIONS = {
  allowJs: true,
  checkJs: false,
  noEmit: true,
  strictNullChecks: true,
  esModuleInterop: true,
  allowImportingTsExtensions: true,
  jsx: ts.JsxEmit.Preserve,
  target: ts.ScriptTarget.ESNext,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  types: [],
};

export class ClientTypes {
  constructor(folder, files) {
    const project = new Project({ compilerOptions: OPTIONS, skipFileDependencyResolution: true });
    this.sources = new Map(files.map((file) => [file, project.addSourceFileAtPath(`${folder}/${file}`)]));
    project.createSourceFile(`${folder}/sluice-migrate.d.ts`, DECLARATIONS);
    this.checker = project.getTypeChecker().compilerObject;
    /** Assigned values of variables and properties that have no type of their own. */
    this.assigned = new Map();
    for (const source of this.sources.values()) this.collectAssignments(source.compilerNode);
  }

  source(file) {
    return this.sources.get(file).compilerNode;
  }

  isClient(node) {
    return this.isOf([CLIENT, "Redis"], node, new Set());
  }

  isTransaction(node) {
    return this.isOf([TRANSACTION], node, new Set());
  }

  isOf(names, node, seen) {
    if (seen.has(node)) return false;
    seen.add(node);
    if (ts.isAwaitExpression(node) || ts.isParenthesizedExpression(node))
      return this.isOf(names, node.expression, seen);
    const type = this.checker.getNonNullableType(this.checker.getTypeAtLocation(node));
    if (names.includes(type.symbol?.name)) return true;
    // The value of a variable without a type, and the result of a function that returns one.
    if ((type.flags & ts.TypeFlags.Any) === 0 && type.symbol?.name !== "Promise") return false;
    if (ts.isCallExpression(node)) return this.returned(node).some((one) => this.isOf(names, one, seen));
    const symbol = this.symbolAt(node);
    return (this.assigned.get(symbol) ?? []).some((value) => this.isOf(names, value, seen));
  }

  symbolAt(node) {
    const symbol = this.checker.getSymbolAtLocation(node);
    const isAlias = symbol !== undefined && (symbol.flags & ts.SymbolFlags.Alias) !== 0;
    return isAlias ? this.checker.getAliasedSymbol(symbol) : symbol;
  }

  collectAssignments(node) {
    if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken) {
      const symbol = this.symbolAt(node.left);
      if (symbol !== undefined) this.assigned.set(symbol, [...(this.assigned.get(symbol) ?? []), node.right]);
    }
    ts.forEachChild(node, (child) => this.collectAssignments(child));
  }

  /** The expressions that the called function returns. */
  returned(call) {
    const declaration = this.checker.getResolvedSignature(call)?.declaration;
    const body = declaration?.body;
    if (body === undefined) return [];
    if (!ts.isBlock(body)) return [body];
    const found = [];
    const look = (node) => {
      if (ts.isFunctionLike(node)) return;
      if (ts.isReturnStatement(node) && node.expression !== undefined) found.push(node.expression);
      ts.forEachChild(node, look);
    };
    look(body);
    return found;
  }
}
