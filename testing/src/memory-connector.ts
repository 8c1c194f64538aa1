/**
 * Clients take a class that reaches a server in its own way. This one needs no socket.
 */

import type { Duplex } from "node:stream";

/** Compatible with every client's own type: the declared result `never` is assignable to all of them. */
export type MemoryConnectorClass = new (options: object) => never;

export function memoryConnector(open: (options: object) => Duplex): MemoryConnectorClass {
  class MemoryConnector {
    firstError?: Error;
    connecting = false;
    private stream: Duplex | null = null;

    constructor(private readonly options: object) {}

    connect(): Promise<Duplex> {
      this.connecting = true;
      this.stream = open(this.options);
      return Promise.resolve(this.stream);
    }

    disconnect(): void {
      this.connecting = false;
      this.stream?.end();
    }

    check(): boolean {
      return true;
    }
  }
  return MemoryConnector as unknown as MemoryConnectorClass;
}
