/**
 * Gives a class one method for each command of the table, and its `...Buffer` twin. All of them
 * hand the spec and the caller's arguments to `[EXECUTE]`; what that means is the class's affair:
 * a client sends, a pipeline collects. The key is a symbol because users define scripts under
 * any name they like, and none may collide with what the classes need themselves.
 */

import type { CommandSpec } from "./command-spec";
import { additionalCommandNames, commandNames, specOf } from "./command-table";

export const EXECUTE: unique symbol = Symbol("execute");

export interface Commander {
  [EXECUTE](spec: CommandSpec, args: unknown[], wantsBuffers: boolean): unknown;
}

export interface CommandMethod {
  (this: Commander, ...args: unknown[]): unknown;
  /** The command that the method executes, so that a list of calls need not pass through it one by one. */
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
// MONITOR makes a client of its own.
const newer = additionalCommandNames().filter((name) => name !== "monitor");
for (const name of [...commandNames(), ...newer]) {
  const spec = specOf(name);
  for (const [method, wantsBuffers] of bothForms(name))
    methods.set(method, commandMethod(spec, wantsBuffers));
}

/** The name of a method and that of its twin which gives Buffers. */
export function bothForms(name: string): [method: string, wantsBuffers: boolean][] {
  return [
    [name, false],
    [`${name}Buffer`, true],
  ];
}

/**
 * Attaches the methods of the table to a prototype, behind its own members. They sit on an object of their own in
 * the chain, a dictionary from its birth: added one by one to a class, each would cost V8 a new hidden class.
 */
export function attachCommands(prototype: object): void {
  const table: object = Object.create(null);
  for (const [name, method] of methods) attachMethod(table, name, method);
  Object.setPrototypeOf(table, Object.getPrototypeOf(prototype));
  Object.setPrototypeOf(prototype, table);
}

/** Attaches one method as built-in ones are: not enumerable, replaceable. */
export function attachMethod(target: object, name: string, method: unknown): void {
  Object.defineProperty(target, name, { value: method, writable: true, configurable: true });
}

/** Attaches one method to a single instance: enumerable, as users who list their scripts expect. */
export function attachOwn(target: object, name: string, method: unknown): void {
  Object.defineProperty(target, name, {
    value: method,
    writable: true,
    configurable: true,
    enumerable: true,
  });
}
