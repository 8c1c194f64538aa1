/**
 * Hides from the client, before it is loaded, how much the process computes. Tests run beside one another:
 * whether others use the processor would decide when bytes are written.
 */

process.cpuUsage = () => ({ user: Number.NaN, system: Number.NaN });
