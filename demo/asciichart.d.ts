/** The part of asciichart that the demo uses; the package brings no types. */

declare module "asciichart" {
  export interface PlotConfig {
    readonly height?: number;
    readonly format?: (value: number, index: number) => string;
  }
  export function plot(series: readonly number[], config?: PlotConfig): string;
}
