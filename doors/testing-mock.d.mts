export * from "./testing-mock.js";
export { MockRedis as default } from "./testing-mock.js";
