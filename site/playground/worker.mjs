/** Runs programs beside the page, which stays alive whatever they do and ends the worker when it has enough. */

import { runProgram } from "../../scripts/site/playground-run";

self.onmessage = async ({ data }) => {
  await runProgram(data, (happening) => self.postMessage(happening));
  self.postMessage({ kind: "over" });
};
