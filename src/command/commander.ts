/**
 * Gives a class one method for each command of the table, and its `...Buffer` form. All of them call
 * `[EXECUTE]` with the spec and the arguments; a client then sends the command, a pipeline collects it. The key
 * is a symbol because users can define scripts with any name, which must not collide with internal members.
 */

import type { CommandSpec } from "./command-spec";
import { additionalCommandNames, commandNames, specOf } from "./command-table";

export const EXECUTE: unique symbol = Symbol("execute");

export interface Commander {
  [EXECUTE](spec: CommandSpec, args: unknown[], wantsBuffers: boolean): unknown;
}

/** A client, for code that sends commands over it. */
export interface Caller {
  [EXECUTE](spec: CommandSpec, args: unknown[], wantsBuffers: boolean): Promise<unknown>;
}

export interface CommandMethod {
  (this: Commander, ...args: unknown[]): unknown;
  /** The command of the method, so that a list of calls does not have to run every method. */
  readonly command?: { readonly spec: CommandSpec; readonly wantsBuffers: boolean };
}

/** A method that executes the given command. */
export function commandMethod(spec: CommandSpec, wantsBuffers: boolean): CommandMethod {
  const method: CommandMethod = function (...args) {
    return this[EXECUTE](spec, args, wantsBuffers);
  };
  return Object.assign(method, { command: { spec, wantsBuffers } });
}

const methods = new Map<string, CommandMethod>();
// The `monitor` method creates another client.
const newer = additionalCommandNames.filter((name) => name !== "monitor");
for (const name of [...commandNames, ...newer]) {
  const spec = specOf(name);
  for (const [method, wantsBuffers] of bothForms(name))
    methods.set(method, commandMethod(spec, wantsBuffers));
}

/** The name of a method and of its form that returns Buffers. */
export function bothForms(name: string): [method: string, wantsBuffers: boolean][] {
  return [
    [name, false],
    [`${name}Buffer`, true],
  ];
}

/**
 * Inserts an object with the methods of the table into the prototype chain, after `prototype`. That object is
 * in dictionary mode from the start. Methods added to the class one by one would each cost V8 a new hidden
 * class.
 */
export function attachCommands(prototype: object): void {
  const table: object = Object.create(null);
  for (const [name, method] of methods) attachMethod(table, name, method);
  Object.setPrototypeOf(table, Object.getPrototypeOf(prototype));
  Object.setPrototypeOf(prototype, table);
}

/** Attaches one method like a built-in one: not enumerable, replaceable. */
export function attachMethod(target: object, name: string, value: unknown, enumerable = false): void {
  Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable });
}

/** Attaches one method to a single instance: enumerable, so that users can list their scripts. */
export function attachOwn(target: object, name: string, method: unknown): void {
  attachMethod(target, name, method, true);
}
