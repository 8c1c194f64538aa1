/** A TCP proxy that lets only so many bytes a second through to the server: a slow uplink. */

import {
  type AddressInfo,
  connect,
  createServer,
  type NetConnectOpts,
  type Server,
  type Socket,
} from "node:net";

const STEP_MS = 10;

export class Throttle {
  connections = 0;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly target: NetConnectOpts,
    private readonly bytesPerStep: number,
  ) {}

  static start(target: NetConnectOpts, bytesPerSecond: number): Promise<Throttle> {
    return new Promise((resolve, reject) => {
      const server = createServer();
      const throttle = new Throttle(server, target, Math.ceil((bytesPerSecond * STEP_MS) / 1000));
      server.on("connection", (client) => throttle.accept(client));
      server.once("error", reject);
      server.listen(0, "127.0.0.1", () => resolve(throttle));
    });
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  private accept(client: Socket): void {
    this.connections++;
    const server = connect(this.target);
    for (const socket of [client, server]) {
      this.sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        this.sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    server.pipe(client);
    // Not flowing: what is not read here stays in the buffers of the kernel, and then with the sender.
    client.pause();
    const timer = setInterval(() => {
      const chunk = client.read(Math.min(this.bytesPerStep, client.readableLength)) as Buffer | null;
      if (chunk !== null) server.write(chunk);
    }, STEP_MS);
    client.on("close", () => clearInterval(timer));
  }
}
