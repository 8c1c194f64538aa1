/** Metrics of OpenTelemetry, collected when a test asks. */

import { type DataPoint, MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";
import { expect } from "chai";

class Reader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

export interface Metric {
  readonly unit: string;
  readonly points: readonly DataPoint<unknown>[];
}

export class Metrics {
  private readonly reader = new Reader();
  readonly provider = new MeterProvider({ readers: [this.reader] });

  /** All metrics by name. */
  async collect(): Promise<Map<string, Metric>> {
    const { resourceMetrics, errors } = await this.reader.collect();
    expect(errors).to.deep.equal([]);
    const all = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
    return new Map(
      all.map(({ descriptor, dataPoints }) => [
        descriptor.name,
        { unit: descriptor.unit, points: dataPoints },
      ]),
    );
  }

  /** The values of one metric for one server, by an attribute. */
  async valuesOf(name: string, server: string, attribute: string): Promise<Record<string, unknown>> {
    const points = (await this.collect()).get(name)?.points ?? [];
    const own = points.filter(({ attributes }) => attributes["db.client.connection.pool.name"] === server);
    return Object.fromEntries(own.map(({ attributes, value }) => [String(attributes[attribute]), value]));
  }
}
