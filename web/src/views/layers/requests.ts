// The server requests of this view.
import { api, unwrap } from "../../api/client";
import type { Page } from "../../api/pages";
import type { BuiltPrompt, LayerBody, Layers, PromptOccasion, VersionBody, Written } from "../../api/schema";
import type { SaveRequest } from "../../api/versions";

/** The agent may edit its layers at any time, so the view refreshes. */
export const POLL_INTERVAL_MS = 20_000;

export interface LayersOf extends Layers {
  agent: string;
}

export async function layersOf(agent: string, signal?: AbortSignal): Promise<LayersOf> {
  return { agent, ...(await unwrap(api.GET("/api/v1/layers", { params: { query: { agent } }, signal }))) };
}

export function layer(agent: string, id: string, signal?: AbortSignal): Promise<LayerBody> {
  return unwrap(api.GET("/api/v1/layers/{id}", { params: { path: { id }, query: { agent } }, signal }));
}

export function history(
  agent: string,
  id: string,
  after: string | undefined,
  signal: AbortSignal,
): Promise<Page<VersionBody>> {
  return unwrap(api.GET("/api/v1/layers/{id}/history", { params: { path: { id }, query: { agent, after } }, signal }));
}

export function write(agent: string, id: string, text: string, wish: SaveRequest): Promise<Written> {
  const body = { content: text, message: wish.message.trim() || null, expected_version: wish.expected };
  return unwrap(api.PUT("/api/v1/layers/{id}", { params: { path: { id }, query: { agent } }, body }));
}

export function rollBack(agent: string, id: string, to: number, wish: SaveRequest): Promise<Written> {
  const body = { to, message: wish.message.trim() || null, expected_version: wish.expected };
  return unwrap(api.POST("/api/v1/layers/{id}/rollback", { params: { path: { id }, query: { agent } }, body }));
}

/** The token count of each layer in the user's own prompt, by layer id. */
export async function tokenCounts(agent: string, signal: AbortSignal): Promise<Map<string, number>> {
  const prompt = (await unwrap(
    api.POST("/api/v1/prompts/build", { params: { query: {} }, body: { agent } as PromptOccasion, signal }),
  )) as BuiltPrompt;
  return new Map(prompt.layers.map((layer) => [layer.id, layer.tokens]));
}
