// Who sits in front of the page. The token itself is in a cookie that no script can read.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { Refusal } from "../api/client";

export interface Session {
  user: string;
  trust: string;
  scopes: string[];
  owner: boolean;
  expires_at?: string | null;
}

export const Who = createContext<Session>({ user: "", trust: "public", scopes: [], owner: false });

export function useSession(): Session {
  return useContext(Who);
}

/** The session there is, if there is one. */
export async function remembered(): Promise<Session | null> {
  const response = await reached(fetch("/api/v1/session"));
  return response.ok ? ((await response.json()) as Session) : null;
}

/** Opens one with a one-time code or a token. */
export async function open(with_: { code: string } | { token: string }): Promise<Session> {
  const headers = { "content-type": "application/json" };
  const response = await reached(fetch("/api/v1/session", { method: "POST", headers, body: JSON.stringify(with_) }));
  const body = (await response.json().catch(() => ({}))) as Session & { code?: string; detail?: string; help?: string };
  if (response.ok) return body;
  throw new Refusal(body.code ?? "refused", body.detail ?? `The server answered ${response.status}.`, body.help ?? null, response.status);
}

export async function close(): Promise<void> {
  await reached(fetch("/api/v1/session", { method: "DELETE" }));
}

async function reached(answer: Promise<Response>): Promise<Response> {
  try {
    return await answer;
  } catch (error) {
    throw Refusal.of(error);
  }
}
