/** Writes everything that comes from stored results: pages, pictures, and the places on pages written by hand. */

import type { Results } from "../support/results-store";
import { writePipelinePages } from "./pipeline-figures";
import { writeReadme } from "./readme-figures";
import { writeRecord } from "./record";
import { writeUserPage } from "./user-page";
import { writeWindowPage } from "./window-figures";

export async function writePages(results: Results): Promise<void> {
  await writeRecord(results);
  await writeUserPage(results);
  writeReadme(results);
  writeWindowPage(results);
  writePipelinePages(results);
}
