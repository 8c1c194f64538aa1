/** Limits of output, and of tables with entries named by users or servers, which could fill the memory. */

/** The most names, such as spellings of commands and codes of errors, in one table. */
export const MOST_NAMES = 1000;
/** The most servers of one list that a server reports; far above any real installation. */
export const MOST_SERVERS = 256;

/** The most elements of a list, and the most characters of a name, in output. */
export const MOST_SHOWN = 20;
export const LONGEST_SHOWN = 64;
