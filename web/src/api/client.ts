// The HTTP client. Turns every failure into an `ApiError` with a message and a suggestion.
import createClient from "openapi-fetch";
import type { Problem, paths } from "./schema";

// Browsers throw `TypeError` for network failures and for programming errors; only the message distinguishes them.
const NETWORK_ERROR = /^(failed to fetch|fetch failed|network ?error|load failed|the (network|internet) connection)/i;

/** An error response, or an unreachable server. */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly help: string | null = null,
    readonly status = 0,
    readonly problems: NonNullable<Problem["problems"]> = [],
  ) {
    super(message);
    this.name = "Refusal";
  }

  static of(error: unknown): ApiError {
    if (error instanceof ApiError) return error;
    if (error instanceof DOMException && error.name === "AbortError") return new ApiError("aborted", "Stopped.");
    if (error instanceof TypeError && NETWORK_ERROR.test(error.message))
      return new ApiError(
        "unreachable",
        "The server is unreachable.",
        "Check that `foreword serve` is running. The page retries automatically.",
      );
    return new ApiError(
      "unexpected",
      error instanceof Error ? error.message : String(error),
      "The page and the server may have different versions. Reload the page.",
    );
  }
}

/**
 * A typed client for every route of the OpenAPI document. `api.GET("/api/v1/status", {})` resolves to `{ data, error,
 * response }`; see [`unwrap`].
 */
export const api = createClient<paths>({ credentials: "same-origin" });

type Answer<T> = { data?: T; error?: unknown; response: Response };

/** Returns the response body, or throws an [`ApiError`]. */
export async function unwrap<T>(answer: Promise<Answer<T>>): Promise<T> {
  let result: Answer<T>;
  try {
    result = await answer;
  } catch (error) {
    throw ApiError.of(error);
  }
  if (result.response.ok) return result.data as T;
  throw toError(result.response, result.error);
}

function toError(response: Response, body: unknown): ApiError {
  const error = errorFrom(response, body);
  if (response.status === 401) for (const listener of unauthorizedListeners) listener();
  return error;
}

function errorFrom(response: Response, body: unknown): ApiError {
  const problem = typeof body === "object" && body !== null ? (body as Partial<Problem>) : {};
  if (problem.detail)
    return new ApiError(
      problem.code ?? "refused",
      problem.detail,
      problem.help ?? null,
      response.status,
      problem.problems ?? [],
    );
  return new ApiError(
    "refused",
    `The server responded with ${response.status} ${response.statusText}.`,
    null,
    response.status,
  );
}

const unauthorizedListeners = new Set<() => void>();

/** Calls `listener` on every 401 response. */
export function onUnauthorized(listener: () => void): () => void {
  unauthorizedListeners.add(listener);
  return () => unauthorizedListeners.delete(listener);
}
