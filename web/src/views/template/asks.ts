// Everything this view asks the server.
import { asked, api } from "../../api/client";
import type { BuiltPrompt, CheckedTemplate, PromptOccasion, StoredTemplate, TemplateBody, TemplateImpact, TemplateVersion, Variable } from "../../api/schema";
import type { Page } from "../../api/pages";
import type { Wish } from "../../api/versions";
import type { Occasion } from "../../parts/occasion";

/** With `explain`, a built prompt has these too. */
export interface Preview extends BuiltPrompt {
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

export function save(template: string, wish: Wish): Promise<StoredTemplate> {
  const body = { template, message: wish.message.trim() || null, expected_version: wish.expected };
  return asked(api.PUT("/system-prompt", { body }));
}

export function restore(version: number, wish: Wish): Promise<StoredTemplate> {
  const body = { message: wish.message.trim() || null, expected_version: wish.expected };
  return asked(api.POST("/api/v1/template/history/{version}/restore", { params: { path: { version } }, body }));
}

export function check(template: string, agent: string | undefined, signal: AbortSignal): Promise<CheckedTemplate> {
  return asked(api.POST("/api/v1/template/check", { body: { template, agent }, signal }));
}

export function impact(template: string, signal: AbortSignal): Promise<TemplateImpact> {
  return asked(api.POST("/api/v1/template/impact", { body: { template }, signal }));
}

export function preview(occasion: Occasion, template: string, signal: AbortSignal): Promise<Preview> {
  const body = { ...occasion, template } as PromptOccasion;
  return asked(api.POST("/api/v1/prompts/build", { params: { query: { explain: true } }, body, signal })) as Promise<Preview>;
}
