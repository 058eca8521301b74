// Everything this view asks the server.
import { api, asked } from "../../api/client";
import type { Page } from "../../api/pages";
import type { BuiltPrompt, LayerBody, Layers, PromptOccasion, VersionBody, Written } from "../../api/schema";
import type { Wish } from "../../api/versions";

/** The agent may rewrite its layers at any time. */
export const LOOK_EVERY = 20_000;

export interface LayersOf extends Layers {
  agent: string;
}

export async function layersOf(agent: string, signal?: AbortSignal): Promise<LayersOf> {
  return { agent, ...(await asked(api.GET("/api/v1/layers", { params: { query: { agent } }, signal }))) };
}

export function layer(agent: string, id: string, signal?: AbortSignal): Promise<LayerBody> {
  return asked(api.GET("/api/v1/layers/{id}", { params: { path: { id }, query: { agent } }, signal }));
}

export function history(agent: string, id: string, after: string | undefined, signal: AbortSignal): Promise<Page<VersionBody>> {
  return asked(api.GET("/api/v1/layers/{id}/history", { params: { path: { id }, query: { agent, after } }, signal }));
}

export function write(agent: string, id: string, text: string, wish: Wish): Promise<Written> {
  const body = { content: text, message: wish.message.trim() || null, expected_version: wish.expected };
  return asked(api.PUT("/api/v1/layers/{id}", { params: { path: { id }, query: { agent } }, body }));
}

export function rollBack(agent: string, id: string, to: number, wish: Wish): Promise<Written> {
  const body = { to, message: wish.message.trim() || null, expected_version: wish.expected };
  return asked(api.POST("/api/v1/layers/{id}/rollback", { params: { path: { id }, query: { agent } }, body }));
}

/** What each layer weighs in the prompt of whoever asks, by its id. */
export async function weights(agent: string, signal: AbortSignal): Promise<Map<string, number>> {
  const prompt = (await asked(api.POST("/api/v1/prompts/build", { params: { query: {} }, body: { agent } as PromptOccasion, signal }))) as BuiltPrompt;
  return new Map(prompt.layers.map((layer) => [layer.id, layer.tokens]));
}
