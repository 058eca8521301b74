// A built prompt as this view uses it, and the one question that gets it.
import { api, asked } from "../../api/client";
import type { BuiltPrompt, ExplainedPrompt, PromptLayer, PromptOccasion } from "../../api/schema";
import { many } from "../../parts/figures";
import type { Occasion } from "../../parts/occasion";

/** What was left out of a layer that did not fit. */
export interface Cut {
  /** From 1; 0 if the cut is inside a line. */
  first_line: number;
  lines: number;
  tokens_before: number;
}

export type Layer = Omit<PromptLayer, "cut"> & { cut?: Cut | null };

/** What only the owner is told is missing for everybody else. */
export type Prompt = Omit<BuiltPrompt, "layers"> & Partial<Omit<ExplainedPrompt, keyof BuiltPrompt>> & { layers: Layer[] };

/** The owner may ask for anybody's; everybody else for their own, with any agent and model. */
export function body(occasion: Occasion, owner: boolean): PromptOccasion {
  const { agent, model } = occasion;
  return (owner ? { ...occasion } : { agent, model }) as PromptOccasion;
}

export async function build(occasion: Occasion, owner: boolean, signal?: AbortSignal): Promise<Prompt> {
  const query = owner ? { explain: true } : {};
  return (await asked(api.POST("/api/v1/prompts/build", { params: { query }, body: body(occasion, owner), signal }))) as Prompt;
}

/**
 * The same agent's prompt for the owner in private: it shows where withheld layers would stand, and how much there could be.
 * Nobody else has one, and where it can't be built one does without.
 */
export async function whole({ agent, model }: Occasion, owner: boolean, signal?: AbortSignal): Promise<Prompt | undefined> {
  return owner ? build({ agent, model }, owner, signal).catch(() => undefined) : undefined;
}

/** The beginning of a provider's request, as JSON that people can read. */
export async function request(format: "anthropic" | "openai", occasion: Occasion, owner: boolean): Promise<string> {
  const answer = await asked(api.POST("/api/v1/prompts/build", { params: { query: { format } }, body: body(occasion, owner), parseAs: "text" }));
  return JSON.stringify(JSON.parse(answer as unknown as string), null, 2);
}

/** Whether its text is in the prompt, whole or in part. */
export function isIn(layer: Layer | undefined): boolean {
  return layer?.status === "included" || layer?.status === "cut";
}

/** What a change of occasion comes to, in a few words. */
export function summed(prompt: Prompt): string {
  const withheld = prompt.layers.filter((layer) => layer.status === "withheld").length;
  const weight = many(prompt.tokens.total, "token");
  return withheld > 0 ? `${many(withheld, "layer")} withheld, ${weight}` : `nothing withheld, ${weight}`;
}

/** `alice, private`; the agent only where it is not the usual one. */
export function spoken(occasion: Occasion, self: string): string {
  const situation = !occasion.situation || occasion.situation === "dm" ? "private" : occasion.situation;
  return [occasion.user ?? self, situation, occasion.agent].filter(Boolean).join(", ");
}

/** What everybody may choose; who and where are the owner's to say. */
export const OWN_FIELDS = ["agent", "model"] as const;

/** Goes to the same view with another address. */
export type Move = (changes: Record<string, string | undefined>, how?: "push" | "replace") => void;
