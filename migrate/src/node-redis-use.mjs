/** Programs that use node-redis: mechanical calls are rewritten, everything else is listed. */

import { addDependency } from "./alias.mjs";
import { fieldOf } from "./project.mjs";

const PACKAGES = ["redis", "@redis/client"];
/** Also the name that an earlier run wrote. */
const HAS_CLIENTS = /["'](?:redis|@redis\/client|sluice)["']/;
const PAGE = "moving-from-node-redis.md";

/** @param wanted The specifier of the command line; without it, the present one stays, or `available()` returns one. */
export async function planNodeRedis(project, wanted, available, plan) {
  const used = PACKAGES.filter((name) => fieldOf(project, name) !== undefined);
  const files = project.sources.filter((file) => HAS_CLIENTS.test(project.read(file)));
  if (files.length === 0 || used.length === 0) return;
  const field = fieldOf(project, "sluice");
  const isChosen = wanted === undefined || wanted === project.manifest[field]?.sluice;
  if (field === undefined || !isChosen) addDependency(project, plan, "sluice", wanted ?? available());
  // The compiler takes a second to load, and projects on ioredis do not need it.
  const { ClientTypes } = await import("./client-types.mjs");
  const { Rewriter } = await import("./rewrite-calls.mjs");
  const types = new ClientTypes(project.folder, project.sources);
  for (const file of project.sources) {
    const text = project.read(file);
    const { after, lines, notes } = new Rewriter(types, file, text, field !== undefined).rewrite();
    if (after !== text) plan.edits.push({ file, after, lines });
    plan.notes.push(...notes.map((note) => ({ file, link: PAGE, ...note })));
  }
  plan.notes.push({
    text: `when no call is left, remove ${used.join(", ")} from package.json`,
    link: PAGE,
  });
}
