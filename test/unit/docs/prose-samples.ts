/** What waits is dropped. */
/** A command leaves at once. */
/** The queue drops commands that wait. */
export const samples = "for prose.test.ts";
