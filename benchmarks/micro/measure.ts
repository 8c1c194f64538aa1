/**
 * Measures the time of one piece of synchronous work and the heap bytes it allocates. Takes the lowest of
 * many rounds, because other load on the machine can only increase the figures.
 */

const ROUNDS = 25;
const ROUND_MS = 12;

export interface Measured {
  readonly nsPerOperation: number;
  readonly bytesPerOperation: number;
}

/** `work` does `operations` operations each time it is called. */
export function measure(operations: number, work: () => void): Measured {
  const warmUntil = performance.now() + 150;
  while (performance.now() < warmUntil) work();
  const calls = callsPerRound(work);
  let leastMs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const startedMs = performance.now();
    for (let call = 0; call < calls; call++) work();
    leastMs = Math.min(leastMs, performance.now() - startedMs);
  }
  return {
    nsPerOperation: (leastMs * 1e6) / calls / operations,
    bytesPerOperation: allocatedBytes(work) / operations,
  };
}

/** With a word on the command line only the lines that contain it are measured. */
const WORD = process.argv[2] ?? "";

export function report(title: string, operations: number, work: () => void): void {
  if (!title.includes(WORD)) return;
  const { nsPerOperation, bytesPerOperation } = measure(operations, work);
  const time = nsPerOperation.toFixed(nsPerOperation < 1000 ? 1 : 0);
  console.log(`${title.padEnd(44)} ${time.padStart(9)} ns ${bytesPerOperation.toFixed(0).padStart(9)} B`);
}

function callsPerRound(work: () => void): number {
  const startedMs = performance.now();
  work();
  const onceMs = performance.now() - startedMs;
  return Math.max(1, Math.ceil(ROUND_MS / Math.max(onceMs, 0.001)));
}

/** Heap growth of one call; calls in which the collector ran show a fall and are left out. */
function allocatedBytes(work: () => void): number {
  const growths: number[] = [];
  for (let round = 0; round < 9; round++) {
    const before = process.memoryUsage().heapUsed;
    work();
    const growth = process.memoryUsage().heapUsed - before;
    if (growth >= 0) growths.push(growth);
  }
  growths.sort((a, b) => a - b);
  return growths[growths.length >> 1] ?? 0;
}
