/** The parts of a build that the packages of this repository share. */

import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { RolldownMagicString, rolldown } from "rolldown";
import { parseSync, Visitor } from "rolldown/utils";
import { dts } from "rolldown-plugin-dts";
import { checkout } from "./run-command.mjs";

/** Nothing is minified, and names are kept; comments are left to the source maps. */
export const READABLE_CODE = {
  format: "cjs",
  // The sources are modules. Without this option, a write to a read-only property would not throw.
  strict: true,
  exports: "named",
  esModule: true,
  // Stack traces name TypeScript lines. The text of the sources would be a third of the package.
  sourcemap: true,
  sourcemapExcludeSources: true,
  keepNames: true,
  comments: { legal: true, annotation: true, jsdoc: false },
  minify: false,
  entryFileNames: "[name].js",
};

/**
 * Users can name no member whose key is a symbol of the package, and no private one. The former bring the types of all
 * layers along, and the comments of the latter are never shown.
 */
const withoutInternals = {
  name: "without-internals",
  transform: {
    order: "pre",
    handler(code, id) {
      const text = new RolldownMagicString(code);
      const prune = ({ start, body }) => {
        let from = start + 1;
        for (const member of body) {
          if (member.computed && member.key.type === "Identifier") text.remove(from, member.end);
          else if (member.accessibility === "private") text.overwrite(from, member.start, "\n");
          from = member.end;
        }
      };
      new Visitor({ ClassBody: prune, TSInterfaceBody: prune }).visit(parseSync(id, code).program);
      return text.toString();
    },
  },
};

/** Bundles declarations as the bundler does it with the code. */
export async function writeDeclarations({ dir, input, plugins = [], chunkFileNames, groups, external = [] }) {
  const bundle = await rolldown({
    input,
    cwd: checkout,
    checks: { pluginTimings: false },
    external,
    plugins: [withoutInternals, ...plugins, dts({ dtsInput: true, sourcemap: false })],
  });
  await bundle.write({
    dir,
    format: "es",
    minifyInternalExports: false,
    entryFileNames: "[name].ts",
    chunkFileNames,
    codeSplitting: { groups },
  });
  await bundle.close();
}

/** Whether an input, which is a file or a folder, is newer than the file that was built from it. */
export function isStale(path, inputs) {
  if (!existsSync(path)) return true;
  const files = inputs.flatMap((input) =>
    statSync(input).isDirectory()
      ? readdirSync(input, { recursive: true, encoding: "utf8" }).map((name) => join(input, name))
      : [input],
  );
  const newest = Math.max(...files.map((file) => statSync(file).mtimeMs));
  return statSync(path).mtimeMs <= newest;
}
