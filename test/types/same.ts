/** Compile-time assertions: `same<A, B>()` compiles only if the two types are identical. */

import type { RowError } from "sluice";

export type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

export declare function same<A, B>(..._: Same<A, B> extends true ? [] : [error: "the types differ"]): void;

export type Rows = [error: RowError | null, result: unknown][];
export type Row<T> = [error: RowError | null, result: T];
