// Everything this view asks the server.
import { Refusal, asked, api } from "../../api/client";
import type { StoredTemplate, TemplateBody, TemplateVersion, Variable } from "../../api/schema";
import type { Page } from "../../api/pages";
import type { Occasion } from "../../parts/occasion";

/** Something that is wrong, or probably not meant, and where; lines and columns begin at 1 and count characters. */
export interface Place {
  line?: number | null;
  column?: number | null;
  end_line?: number | null;
  end_column?: number | null;
  message: string;
  help?: string | null;
}

export interface Checked {
  dialect: string;
  problems: Place[];
  warnings: Place[];
}

/** What a text would touch, in the conversations that use the template, when their next epoch opens. */
export interface Impact {
  changed: boolean;
  conversations: number;
  touched: number;
  cached_tokens: number;
  cost_usd: number | null;
  unpriced: number;
  /** How many conversations were looked at, at most. */
  looked_at: number;
  /** There are more than were looked at. */
  or_more: boolean;
  /** Those that are touched, the dearest first; the server lists fifty at most. */
  items: Touched[];
}

export interface Touched {
  conversation: string;
  title?: string | null;
  agent: string;
  model: string;
  frozen_tokens: number;
  kept_tokens: number;
  touched_tokens: number;
  warm: boolean;
  cost_usd?: number | null;
}

export interface Preview {
  text: string;
  tokens: { total: number; frozen: number; turn: number };
  trust: { effective: string };
  warnings: { code: string; message: string }[];
  breakpoints?: unknown[];
  price?: { cold?: number | null; warm?: number | null } | null;
}

export const stored = (signal?: AbortSignal): Promise<TemplateBody> => asked(api.GET("/system-prompt", { signal }));

export async function variables(signal?: AbortSignal): Promise<Variable[]> {
  return (await asked(api.GET("/system-prompt/variables", { signal }))).variables;
}

export function versions(after: string | undefined, signal: AbortSignal): Promise<Page<TemplateVersion>> {
  return asked(api.GET("/api/v1/template/history", { params: { query: { after } }, signal }));
}

export async function versionText(version: number, signal?: AbortSignal): Promise<string> {
  return (await asked(api.GET("/api/v1/template/history/{version}", { params: { path: { version } }, signal }))).template;
}

export interface Wish {
  message: string;
  expected: number;
}

export function save(template: string, wish: Wish): Promise<StoredTemplate> {
  const body = { template, message: wish.message.trim() || null, expectedVersion: wish.expected };
  return asked(api.PUT("/system-prompt", { body }));
}

export function restore(version: number, wish: Wish): Promise<StoredTemplate> {
  const body = { message: wish.message.trim() || null, expectedVersion: wish.expected };
  return asked(api.POST("/api/v1/template/history/{version}/restore", { params: { path: { version } }, body }));
}

export function check(template: string, agent: string | undefined, signal: AbortSignal): Promise<Checked> {
  return post("/api/v1/template/check", { template, agent }, signal);
}

export function impact(template: string, signal: AbortSignal): Promise<Impact> {
  return post("/api/v1/template/impact", { template }, signal);
}

export function preview(occasion: Occasion, template: string, signal: AbortSignal): Promise<Preview> {
  return post("/api/v1/prompts/build?explain=true", { ...occasion, template }, signal);
}

async function post<T>(path: string, body: unknown, signal: AbortSignal): Promise<T> {
  const answer = fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), signal });
  return asked(answer.then(async (response) => {
    const said: unknown = await response.json().catch(() => undefined);
    return response.ok ? { data: said as T, response } : { error: said, response };
  }));
}

/** Somebody stored another version in between. */
export function overtaken(error: unknown): boolean {
  return error instanceof Refusal && (error.status === 412 || error.code === "version_conflict");
}
