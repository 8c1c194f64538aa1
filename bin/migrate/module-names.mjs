/** What one file takes from others and gives to others, by name; nothing is known here of what the names stand for. */

const relative = (specifier) => specifier.startsWith(".");

/** `require("./file")`, or undefined. */
function requiredBy(ts, node) {
  if (node === undefined || !ts.isCallExpression(node) || node.expression.getText() !== "require")
    return undefined;
  const [path] = node.arguments;
  return path !== undefined && ts.isStringLiteral(path) && relative(path.text) ? path.text : undefined;
}

function* importNames(ts, { moduleSpecifier, importClause }) {
  const from = moduleSpecifier.text;
  if (importClause === undefined || from === undefined || !relative(from)) return;
  const { name, namedBindings } = importClause;
  if (name !== undefined) yield { from, imported: "default", local: name.text };
  if (namedBindings === undefined) return;
  if (ts.isNamespaceImport(namedBindings)) yield { from, imported: "*", local: namedBindings.name.text };
  else {
    for (const one of namedBindings.elements)
      yield { from, imported: (one.propertyName ?? one.name).text, local: one.name.text };
  }
}

function* requireNames(ts, { name, initializer }) {
  const from = requiredBy(ts, initializer);
  if (from === undefined) return;
  if (ts.isIdentifier(name)) {
    yield { from, imported: "*", local: name.text };
    yield { from, imported: "default", local: name.text };
  } else if (ts.isObjectBindingPattern(name)) {
    for (const one of name.elements)
      yield { from, imported: (one.propertyName ?? one.name).getText(), local: one.name.getText() };
  }
}

/** Names that a file has from files of the same project. */
export function* importsOf(ts, source) {
  for (const statement of source.statements) {
    if (ts.isImportDeclaration(statement)) yield* importNames(ts, statement);
    if (ts.isVariableStatement(statement)) {
      for (const one of statement.declarationList.declarations) yield* requireNames(ts, one);
    }
  }
}

function* assignedNames(ts, statement) {
  const { expression } = statement;
  if (!ts.isBinaryExpression(expression)) return;
  const target = expression.left.getText();
  const name = /^(?:module\.)?exports\.(\w+)$/.exec(target)?.[1];
  if (name !== undefined) yield { local: expression.right.getText(), exported: name };
  if (target !== "module.exports") return;
  if (!ts.isObjectLiteralExpression(expression.right)) {
    yield { local: expression.right.getText(), exported: "default" };
    return;
  }
  for (const property of expression.right.properties) {
    if (ts.isShorthandPropertyAssignment(property))
      yield { local: property.name.text, exported: property.name.text };
    else if (ts.isPropertyAssignment(property))
      yield { local: property.initializer.getText(), exported: property.name.getText() };
  }
}

function* exportedNames(ts, { moduleSpecifier, exportClause }) {
  const from = moduleSpecifier?.text;
  if (from !== undefined && !relative(from)) return;
  if (exportClause === undefined) yield { from, exported: "*" };
  else if (ts.isNamedExports(exportClause)) {
    for (const one of exportClause.elements)
      yield { from, local: (one.propertyName ?? one.name).text, exported: one.name.text };
  }
}

/** Names that other files can have from this one: its own, or (`from`) those of a third. */
export function* exportsOf(ts, source) {
  for (const statement of source.statements) {
    const words = statement.modifiers?.map(({ kind }) => kind) ?? [];
    const isDefault = words.includes(ts.SyntaxKind.DefaultKeyword);
    if (ts.isExportAssignment(statement))
      yield { local: statement.expression.getText(), exported: "default" };
    else if (ts.isExportDeclaration(statement)) yield* exportedNames(ts, statement);
    else if (ts.isExpressionStatement(statement)) yield* assignedNames(ts, statement);
    else if (!words.includes(ts.SyntaxKind.ExportKeyword)) continue;
    else if (ts.isVariableStatement(statement)) {
      for (const { name } of statement.declarationList.declarations)
        yield { local: name.getText(), exported: name.getText() };
    } else if (ts.isFunctionDeclaration(statement) && statement.name !== undefined) {
      yield { local: statement.name.text, exported: isDefault ? "default" : statement.name.text };
    }
  }
}
