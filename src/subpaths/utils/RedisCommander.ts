/** The sub-path `built/utils/RedisCommander`: types only. */

export type {
  ChainableCommander,
  ClientContext,
  RedisCommander,
  RedisCommander as default,
  RedisKey,
  RedisValue,
  Result,
  ResultTypes,
} from "../../command/generated/signatures";
