/**
 * Programs that use node-redis. Calls that are mechanical are rewritten where the project has a TypeScript compiler to
 * read them with (its parser reads JavaScript too, so no parser is a dependency of this package); without one, and for
 * everything else, the places are listed.
 */

import { addDependency } from "./alias.mjs";
import { readClientFiles } from "./client-files.mjs";
import { fieldOf } from "./project.mjs";

const PACKAGES = ["redis", "@redis/client"];
/** Also what an earlier run made of it. */
const HAS_CLIENTS = /["'](?:redis|@redis\/client|sluice)["']/;
const CALLS = /\bcreate(?:Client|Cluster|Sentinel|ClientPool)\s*\(/g;
const PAGE = "moving-from-node-redis.md";

function listCalls(file, text, plan) {
  for (const { index } of text.matchAll(CALLS)) {
    const line = text.slice(0, index).split("\n").length;
    plan.notes.push({ file, line, text: "a client of node-redis", link: PAGE });
  }
}

function planCalls(project, plan) {
  for (const rewriter of readClientFiles(project, HAS_CLIENTS)) {
    const { file, text } = rewriter;
    const { after, lines, notes } = rewriter.rewrite();
    if (after !== text) plan.edits.push({ file, after, lines });
    plan.notes.push(...notes.map((note) => ({ file, link: PAGE, ...note })));
  }
}

/** @param wanted The specifier asked for on the command line; undefined keeps what is there, or takes the version. */
export function planNodeRedis(project, wanted, version, plan) {
  const used = PACKAGES.filter((name) => fieldOf(project, name) !== undefined);
  const files = project.sources.filter((file) => HAS_CLIENTS.test(project.read(file)));
  if (files.length === 0 || used.length === 0) return;
  const field = fieldOf(project, "sluice");
  const isChosen = wanted === undefined || wanted === project.manifest[field]?.sluice;
  if (field === undefined || !isChosen) addDependency(project, plan, "sluice", wanted ?? version);
  if (project.compiler === null) {
    plan.notes.push({
      text: "there is no TypeScript 5 or 6 in the project, so calls are listed and not rewritten (install it for the rewriting)",
      link: PAGE,
    });
  }
  if (project.compiler === null) for (const file of files) listCalls(file, project.read(file), plan);
  else planCalls(project, plan);
  plan.notes.push({
    text: `when nothing of it is left: take ${used.join(", ")} out of package.json`,
    link: PAGE,
  });
}
