/** A fault proxy in a thread of its own: a busy or paused event loop of the test does not delay its bytes. */

import { once } from "node:events";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { Direction, FaultProxy } from "./fault-proxy";

interface Place {
  readonly host: string;
  readonly port: number;
}

type Step = readonly ["delay", number] | readonly ["refuse" | "cutAll" | "heal" | "stop"];

export class FeedLine implements Place {
  private readonly unanswered: (() => void)[] = [];

  private constructor(
    private readonly worker: Worker,
    readonly host: string,
    readonly port: number,
  ) {
    worker.on("message", () => this.unanswered.shift()?.());
  }

  static async start({ host, port }: Place): Promise<FeedLine> {
    const worker = new Worker(__filename, { workerData: { host, port } });
    const [place] = (await once(worker, "message")) as [Place];
    return new FeedLine(worker, place.host, place.port);
  }

  /** Delays what the client of the proxy receives. */
  delay(ms: number): Promise<void> {
    return this.perform(["delay", ms]);
  }

  /** Accepts no connection, and cuts the present ones. */
  async cutOff(): Promise<void> {
    await this.perform(["refuse"]);
    await this.cutAll();
  }

  cutAll(): Promise<void> {
    return this.perform(["cutAll"]);
  }

  heal(): Promise<void> {
    return this.perform(["heal"]);
  }

  async stop(): Promise<void> {
    await this.perform(["stop"]);
    await this.worker.terminate();
  }

  private perform(step: Step): Promise<void> {
    return new Promise((resolve) => {
      this.unanswered.push(resolve);
      this.worker.postMessage(step);
    });
  }
}

async function serve(target: Place): Promise<void> {
  const proxy = await FaultProxy.start(target, { record: false });
  parentPort?.on("message", async ([name, ms]: Step) => {
    if (name === "delay") proxy.delay(ms ?? 0, Direction.ToClient);
    else await proxy[name]();
    parentPort?.postMessage(null);
  });
  parentPort?.postMessage({ host: proxy.host, port: proxy.port });
}

if (!isMainThread) void serve(workerData as Place);
