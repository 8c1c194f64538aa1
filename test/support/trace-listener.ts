/** Listens to the tracing channels of the client and notes what is reported. */

import { type TracingChannel, tracingChannel } from "node:diagnostics_channel";

export interface Heard {
  /** Channel and event, as in `command:asyncEnd`. */
  readonly event: string;
  readonly context: Record<string, unknown>;
}

const OPERATIONS = ["command", "batch", "connect"];
const EVENTS = ["start", "end", "asyncStart", "asyncEnd", "error"] as const;

/** Call `stop()` at the end. */
export function listen(): { heard: Heard[]; stop: () => void } {
  const heard: Heard[] = [];
  const subscriptions: [TracingChannel, Parameters<TracingChannel["subscribe"]>[0]][] = [];
  for (const operation of OPERATIONS) {
    const channel = tracingChannel(`ioredis:${operation}`);
    const note = (event: string) => (context: object) =>
      void heard.push({ event: `${operation}:${event}`, context: context as Record<string, unknown> });
    const handlers = Object.fromEntries(EVENTS.map((event) => [event, note(event)]));
    const subscription = handlers as unknown as Parameters<TracingChannel["subscribe"]>[0];
    channel.subscribe(subscription);
    subscriptions.push([channel, subscription]);
  }
  const stop = (): void => {
    for (const [channel, subscription] of subscriptions.splice(0)) channel.unsubscribe(subscription);
  };
  return { heard, stop };
}
