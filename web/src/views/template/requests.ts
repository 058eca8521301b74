// The server requests of this view.
import { api, unwrap } from "../../api/client";
import type { Page } from "../../api/pages";
import type {
  BuiltPrompt,
  CheckedTemplate,
  PromptOccasion,
  StoredTemplate,
  TemplateBody,
  TemplateImpact,
  TemplateVersion,
  Variable,
} from "../../api/schema";
import type { SaveRequest } from "../../api/versions";
import type { Occasion } from "../../parts/occasion";

/** Additional fields of a prompt built with `explain`. */
export interface Preview extends BuiltPrompt {
  breakpoints?: unknown[];
  price?: { cold?: number | null; warm?: number | null } | null;
}

export const stored = (signal?: AbortSignal): Promise<TemplateBody> => unwrap(api.GET("/system-prompt", { signal }));

export async function variables(signal?: AbortSignal): Promise<Variable[]> {
  return (await unwrap(api.GET("/system-prompt/variables", { signal }))).variables;
}

export function versions(after: string | undefined, signal: AbortSignal): Promise<Page<TemplateVersion>> {
  return unwrap(api.GET("/api/v1/template/history", { params: { query: { after } }, signal }));
}

export async function versionText(version: number, signal?: AbortSignal): Promise<string> {
  return (await unwrap(api.GET("/api/v1/template/history/{version}", { params: { path: { version } }, signal })))
    .template;
}

export function save(template: string, wish: SaveRequest): Promise<StoredTemplate> {
  const body = { template, message: wish.message.trim() || null, expected_version: wish.expected };
  return unwrap(api.PUT("/system-prompt", { body }));
}

export function restore(version: number, wish: SaveRequest): Promise<StoredTemplate> {
  const body = { message: wish.message.trim() || null, expected_version: wish.expected };
  return unwrap(api.POST("/api/v1/template/history/{version}/restore", { params: { path: { version } }, body }));
}

export function check(template: string, agent: string | undefined, signal: AbortSignal): Promise<CheckedTemplate> {
  return unwrap(api.POST("/api/v1/template/check", { body: { template, agent }, signal }));
}

export function impact(template: string, signal: AbortSignal): Promise<TemplateImpact> {
  return unwrap(api.POST("/api/v1/template/impact", { body: { template }, signal }));
}

export function preview(occasion: Occasion, template: string, signal: AbortSignal): Promise<Preview> {
  const body = { ...occasion, template } as PromptOccasion;
  return unwrap(
    api.POST("/api/v1/prompts/build", { params: { query: { explain: true } }, body, signal }),
  ) as Promise<Preview>;
}
