/** A socket that TCP has connected to itself would answer each command with its own words. */

import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { expect } from "chai";
import { freePort } from "../../scripts/servers/free-port";
import { Redis } from "../../src/index";
import { AbstractConnector } from "../../src/link/connector";
import { refusingItself } from "../../src/link/tcp-connector";

describe("a socket that has reached itself", () => {
  it("counts as a refused connection", async () => {
    const port = await freePort();
    class Itself extends AbstractConnector {
      constructor() {
        super(undefined);
      }

      override async connect(): Promise<Duplex> {
        // The same port at both ends is what the system chooses now and then by itself.
        const socket = connect({ host: "127.0.0.1", port, localPort: port });
        this.stream = refusingItself(socket);
        return socket;
      }
    }
    const redis = new Redis({ Connector: Itself, retryStrategy: () => null, lazyConnect: true });
    const errors: Error[] = [];
    redis.on("error", (error: Error) => errors.push(error));
    const outcome = await redis.get("foo").then(
      (value) => value,
      (error: Error) => error,
    );
    expect(outcome).to.be.instanceOf(Error);
    expect(errors[0]).to.include({ code: "ECONNREFUSED", syscall: "connect", port });
    expect(redis.status).to.equal("end");
  });
});
