/** Loaded into each program: a process that does not end by itself says what holds it. */

const PATIENCE_MS = 4_000;

export const mochaHooks = {
  afterAll() {
    const report = () => console.log("Still alive because of", process.getActiveResourcesInfo().join(", "));
    setTimeout(report, PATIENCE_MS).unref();
  },
};
