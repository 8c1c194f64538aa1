/**
 * A few commands to a server, for seeding and for reading its counters: no client under test is involved.
 */

import { BareReader } from "../sides/bare-reader";
import { BareSocket } from "../sides/bare-socket";
import { encodeRequest } from "../sides/operation";
import type { Address } from "../sides/side";

export type Words = readonly (string | Buffer)[];

export class BareClient {
  private readonly waiters: ((value: unknown) => void)[] = [];
  private readonly reader = new BareReader((value) => this.waiters.shift()?.(value));

  private constructor(private readonly socket: BareSocket) {
    socket.onBytes = (chunk) => this.reader.push(chunk);
  }

  static async open(address: Address): Promise<BareClient> {
    return new BareClient(await BareSocket.open({ nodes: [address], isCluster: false }));
  }

  call(...words: (string | Buffer)[]): Promise<unknown> {
    this.socket.write(encodeRequest(words));
    return new Promise((resolve) => this.waiters.push(resolve));
  }

  /** Requests that are encoded already. */
  sendAll(requests: readonly Buffer[]): Promise<unknown[]> {
    const replies = requests.map(() => new Promise((resolve) => this.waiters.push(resolve)));
    this.socket.write(Buffer.concat(requests));
    return Promise.all(replies);
  }

  callAll(requests: readonly Words[]): Promise<unknown[]> {
    return this.sendAll(requests.map(encodeRequest));
  }

  close(): void {
    this.socket.close();
  }
}

/** Numeric fields of INFO. */
export async function serverInfo(client: BareClient, ...sections: string[]): Promise<Map<string, number>> {
  const text = String(await client.call("INFO", ...sections));
  const fields = new Map<string, number>();
  for (const line of text.split("\r\n")) {
    const [name, value] = line.split(":");
    if (name !== undefined && value !== undefined && value !== "") fields.set(name, Number(value));
  }
  return fields;
}

/** CPU time of the server so far, in s. */
export async function serverCpuSeconds(client: BareClient): Promise<number> {
  const cpu = await serverInfo(client, "cpu");
  return (cpu.get("used_cpu_user") ?? 0) + (cpu.get("used_cpu_sys") ?? 0);
}
