import mock from "./testing-mock.js";

export const { Cluster, MockCluster, MockRedis, Redis, mockServer, resetMocks } = mock;
export default mock;
