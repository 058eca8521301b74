// Asks the server, and turns its refusals into one kind of error that says what happened and what to try.
import createClient from "openapi-fetch";
import type { Problem, paths } from "./schema";

// Browsers have one kind of error for a request that came to nothing and for code that stumbles; only the words tell them apart.
const UNREACHED = /^(failed to fetch|fetch failed|network ?error|load failed|the (network|internet) connection)/i;

/** A refusal, or a server that can't be reached. */
export class Refusal extends Error {
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

  static of(error: unknown): Refusal {
    if (error instanceof Refusal) return error;
    if (error instanceof DOMException && error.name === "AbortError") return new Refusal("aborted", "Stopped.");
    if (error instanceof TypeError && UNREACHED.test(error.message))
      return new Refusal("unreachable", "The server can't be reached.", "Is `foreword serve` still running? The page tries again by itself.");
    return new Refusal("unexpected", error instanceof Error ? error.message : String(error), "The page and the server may be different versions: reload the page.");
  }
}

/** Every route of the document, typed. `api.GET("/api/v1/status", {})` answers `{ data, error, response }`; see [`asked`]. */
export const api = createClient<paths>({ credentials: "same-origin" });

type Answer<T> = { data?: T; error?: unknown; response: Response };

/** What a route answered, or a thrown [`Refusal`]. */
export async function asked<T>(answer: Promise<Answer<T>>): Promise<T> {
  let heard: Answer<T>;
  try {
    heard = await answer;
  } catch (error) {
    throw Refusal.of(error);
  }
  if (heard.response.ok) return heard.data as T;
  throw refused(heard.response, heard.error);
}

function refused(response: Response, body: unknown): Refusal {
  const refusal = toldOf(response, body);
  if (response.status === 401) for (const listener of strangers) listener();
  return refusal;
}

function toldOf(response: Response, body: unknown): Refusal {
  const problem = typeof body === "object" && body !== null ? (body as Partial<Problem>) : {};
  if (problem.detail)
    return new Refusal(problem.code ?? "refused", problem.detail, problem.help ?? null, response.status, problem.problems ?? []);
  return new Refusal("refused", `The server answered ${response.status} ${response.statusText}.`, null, response.status);
}

const strangers = new Set<() => void>();

/** Calls `listener` whenever the server does not know us any more. */
export function onStranger(listener: () => void): () => void {
  strangers.add(listener);
  return () => strangers.delete(listener);
}
