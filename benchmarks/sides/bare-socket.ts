/**
 * A TCP socket without a client: reads through one reused block, writes what it is given.
 *
 * The chunk handed to the listener is only valid during the call.
 */

import net from "node:net";
import type { Target } from "./side";

const READ_BLOCK_BYTES = 262_144;

export class BareSocket {
  /** Replaced by whoever is to see the bytes. */
  onBytes: (chunk: Buffer) => void = () => undefined;

  private constructor(private readonly socket: net.Socket) {}

  static open(target: Target): Promise<BareSocket> {
    const { host, port } = target.nodes[0] as { host: string; port: number };
    const block = Buffer.allocUnsafeSlow(READ_BLOCK_BYTES);
    return new Promise((resolve, reject) => {
      let bare: BareSocket | undefined;
      const socket = net.connect({
        host,
        port,
        onread: {
          buffer: block,
          callback: (count) => {
            bare?.onBytes(block.subarray(0, count));
            return true;
          },
        },
      });
      socket.setNoDelay(true);
      socket.once("error", reject);
      socket.once("connect", () => {
        bare = new BareSocket(socket);
        resolve(bare);
      });
    });
  }

  write(bytes: Buffer): void {
    this.socket.write(bytes);
  }

  close(): void {
    this.socket.destroy();
  }
}
