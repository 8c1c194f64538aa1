export * from "sluice-testing";
