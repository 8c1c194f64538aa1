/** Own properties by names that come from data, whatever has been done to `Object.prototype`. */

import { expect } from "chai";
import { lookAtPrototype, setOwn } from "../../../src/util/own-property";

describe("setOwn", () => {
  const prototype = Object.prototype as unknown as Record<string, unknown>;

  afterEach(() => {
    for (const name of ["added", "fixed", "value"]) Reflect.deleteProperty(prototype, name);
    lookAtPrototype();
  });

  function expectOwn(name: string, object: Record<string, unknown> = {}): void {
    setOwn(object, name, 1);
    const own = Object.getOwnPropertyDescriptor(object, name);
    expect(own, name).to.deep.equal({ value: 1, writable: true, enumerable: true, configurable: true });
    setOwn(object, name, 2);
    expect(Object.getOwnPropertyDescriptor(object, name)?.value).to.equal(2);
  }

  it("makes ordinary ones, whatever they are called", () => {
    for (const name of [
      "a",
      "",
      "0",
      "__proto__",
      "constructor",
      "toString",
      "hasOwnProperty",
      "__defineGetter__",
    ]) {
      expectOwn(name);
    }
    const object: Record<string, unknown> = {};
    setOwn(object, "__proto__", { polluted: true });
    expect("polluted" in object).to.equal(false);
    expect(Object.getPrototypeOf(object)).to.equal(Object.prototype);
  });

  it("does not run an accessor that a library has added", () => {
    const seen: unknown[] = [];
    for (const accessor of [
      { set: (value: unknown) => void seen.push(value) },
      { get: () => "read", set: (value: unknown) => void seen.push(value) },
      { get: () => "read" },
    ]) {
      Object.defineProperty(prototype, "added", { configurable: true, ...accessor });
      lookAtPrototype();
      expectOwn("added");
      expectOwn("a");
      Reflect.deleteProperty(prototype, "added");
    }
    expect(seen).to.deep.equal([]);
  });

  it("does not run an accessor that has the name of a part of descriptors", () => {
    const seen: unknown[] = [];
    const accessor = Object.assign(Object.create(null), {
      set: (value: unknown) => void seen.push(value),
      configurable: true,
    });
    Object.defineProperty(prototype, "value", accessor);
    lookAtPrototype();
    const object: Record<string, unknown> = {};
    setOwn(object, "value", 1);
    Reflect.deleteProperty(prototype, "value");
    expect([object, seen]).to.deep.equal([{ value: 1 }, []]);
  });

  it("makes one where a property of the prototype may not be written", () => {
    Object.defineProperty(prototype, "fixed", { value: 0, writable: false, configurable: true });
    for (const isSeen of [true, false]) {
      if (isSeen) lookAtPrototype();
      expectOwn("fixed");
    }
  });

  it("assigns again when the accessor is gone", () => {
    Object.defineProperty(prototype, "added", { set: () => {}, configurable: true });
    lookAtPrototype();
    Reflect.deleteProperty(prototype, "added");
    lookAtPrototype();
    let definitions = 0;
    const watched = new Proxy<Record<string, unknown>>(
      {},
      {
        set: (target, name, value) => {
          definitions--;
          return Reflect.set(target, name, value);
        },
        defineProperty: (target, name, descriptor) => {
          definitions++;
          return Reflect.defineProperty(target, name, descriptor);
        },
      },
    );
    setOwn(watched, "toString", 1);
    expect(definitions).to.equal(-1);
  });
});
