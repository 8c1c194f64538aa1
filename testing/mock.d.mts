export * from "./mock.js";
export { MockRedis as default } from "./mock.js";
