// Storing a version of something over the one it was begun from.
import { Refusal } from "./client";

export interface Wish {
  /** Why; empty if nobody said. */
  message: string;
  /** The version that is replaced. */
  expected: number;
}

/** Somebody stored another version in between. */
export function overtaken(error: unknown): boolean {
  return error instanceof Refusal && (error.status === 412 || error.code === "version_conflict");
}
