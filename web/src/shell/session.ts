// The login session. The token is in an HttpOnly cookie.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { ApiError } from "../api/client";
import type { Session } from "../api/schema";
import { sentence } from "../parts/states";

export type { Session };

export const SessionContext = createContext<Session>({ user: "", trust: "public", scopes: [], owner: false });

export function useSession(): Session {
  return useContext(SessionContext);
}

/** The existing login session. Only a 401 means that there is none. */
export async function currentSession(): Promise<Session | null> {
  const response = await checked(fetch("/api/v1/session"));
  if (response.status === 401) return null;
  if (!response.ok) throw await toError(response);
  return (await response.json()) as Session;
}

/** Opens a login session with a one-time code or a token. */
export async function openSession(with_: { code: string } | { token: string }): Promise<Session> {
  const headers = { "content-type": "application/json" };
  const response = await checked(fetch("/api/v1/session", { method: "POST", headers, body: JSON.stringify(with_) }));
  if (!response.ok) throw await toError(response);
  return (await response.json()) as Session;
}

/** Closes the login session. On failure the cookie is still valid, which the error mentions. */
export async function closeSession(): Promise<void> {
  try {
    const response = await checked(fetch("/api/v1/session", { method: "DELETE" }));
    if (!response.ok && response.status !== 401) throw await toError(response);
  } catch (error) {
    const { code, message, status } = ApiError.of(error);
    throw new ApiError(
      code,
      `You are still signed in. ${sentence(message)}`,
      "Try again in a moment. If other people use this browser, delete this site's cookie.",
      status,
    );
  }
}

/** Treats a 5xx response, for example from a proxy, as an unreachable server. */
async function checked(answer: Promise<Response>): Promise<Response> {
  const response = await answer.catch((error: unknown) => {
    throw ApiError.of(error);
  });
  if (response.status < 500) return response;
  const { message, status } = await toError(response);
  throw new ApiError("unreachable", message, "The page retries automatically.", status);
}

async function toError(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => ({}))) as { code?: string; detail?: string; help?: string };
  return new ApiError(
    body.code ?? "refused",
    body.detail ?? `The server responded with ${response.status}.`,
    body.help ?? null,
    response.status,
  );
}
