// Optimistic concurrency control: saving over a known version.
import { ApiError } from "./client";

export interface SaveRequest {
  /** The reason for the change; may be empty. */
  message: string;
  /** The version to replace. */
  expected: number;
}

/** Whether a save failed because another version was stored in the meantime. */
export function isConflict(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 412 || error.code === "version_conflict");
}
