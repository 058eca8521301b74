// Everything this view asks the server.
import { Refusal, api, asked } from "../../api/client";
import type { Page } from "../../api/pages";
import type { LayerBody, Layers, PromptOccasion, VersionBody, Written } from "../../api/schema";

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

export interface Wish {
  message: string;
  expected: number;
}

export function write(agent: string, id: string, text: string, wish: Wish): Promise<Written> {
  const body = { text, message: wish.message.trim() || null, expected_version: wish.expected };
  return asked(api.PUT("/api/v1/layers/{id}", { params: { path: { id }, query: { agent } }, body }));
}

export function rollBack(agent: string, id: string, to: number, wish: Wish): Promise<Written> {
  const body = { to, message: wish.message.trim() || null, expected_version: wish.expected };
  return asked(api.POST("/api/v1/layers/{id}/rollback", { params: { path: { id }, query: { agent } }, body }));
}

/** What each layer weighs in the prompt of whoever asks, by its id. */
export async function weights(agent: string, signal: AbortSignal): Promise<Map<string, number>> {
  const prompt = await asked(api.POST("/api/v1/prompts/build", { params: { query: {} }, body: { agent } as PromptOccasion, signal }));
  return new Map(prompt.layers.map((layer) => [layer.id, layer.tokens]));
}

/** Somebody stored another version in between. */
export function overtaken(error: unknown): boolean {
  return error instanceof Refusal && (error.status === 412 || error.code === "version_conflict");
}
