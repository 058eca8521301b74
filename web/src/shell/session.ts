// Who sits in front of the page. The token itself is in a cookie that no script can read.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { Refusal } from "../api/client";
import type { Session } from "../api/schema";
import { sentence } from "../parts/told";

export type { Session };

export const Who = createContext<Session>({ user: "", trust: "public", scopes: [], owner: false });

export function useSession(): Session {
  return useContext(Who);
}

/** The session there is, if there is one. Who is not known is told so by a 401; anything else says nothing about us. */
export async function remembered(): Promise<Session | null> {
  const response = await answered(fetch("/api/v1/session"));
  if (response.status === 401) return null;
  if (!response.ok) throw await refusal(response);
  return (await response.json()) as Session;
}

/** Opens one with a one-time code or a token. */
export async function open(with_: { code: string } | { token: string }): Promise<Session> {
  const headers = { "content-type": "application/json" };
  const response = await answered(fetch("/api/v1/session", { method: "POST", headers, body: JSON.stringify(with_) }));
  if (!response.ok) throw await refusal(response);
  return (await response.json()) as Session;
}

/** Ends it. If that fails the cookie is still there, and so is whoever comes next. */
export async function close(): Promise<void> {
  try {
    const response = await answered(fetch("/api/v1/session", { method: "DELETE" }));
    if (!response.ok && response.status !== 401) throw await refusal(response);
  } catch (error) {
    const { code, message, status } = Refusal.of(error);
    throw new Refusal(code, `You are still signed in. ${sentence(message)}`, "Try again in a moment. If somebody else uses this browser before that, take the cookie of this site away.", status);
  }
}

/** What the server answered. One that can't answer now, or a proxy that answers in its place, is as good as away. */
async function answered(answer: Promise<Response>): Promise<Response> {
  const response = await answer.catch((error: unknown) => {
    throw Refusal.of(error);
  });
  if (response.status < 500) return response;
  const { message, status } = await refusal(response);
  throw new Refusal("unreachable", message, "The page tries again by itself.", status);
}

async function refusal(response: Response): Promise<Refusal> {
  const body = (await response.json().catch(() => ({}))) as { code?: string; detail?: string; help?: string };
  return new Refusal(body.code ?? "refused", body.detail ?? `The server answered ${response.status}.`, body.help ?? null, response.status);
}
