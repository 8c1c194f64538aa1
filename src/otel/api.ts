/** The OpenTelemetry API, which users install beside the client. */

export type Api = typeof import("@opentelemetry/api");

/** Throws an error with installation advice if the API is missing. */
export function loadApi(): Api {
  try {
    return require("@opentelemetry/api") as Api;
  } catch (cause) {
    throw missing("@opentelemetry/api", cause);
  }
}

export function missing(name: string, cause: unknown): Error {
  return new Error(`sluice/otel needs the package ${name}: npm install ${name}`, { cause });
}
