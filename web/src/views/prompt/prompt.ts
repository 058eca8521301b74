// The built prompt as this view uses it, and the request that loads it.
import { api, unwrap } from "../../api/client";
import type { BuiltPrompt, ExplainedPrompt, PromptLayer, PromptOccasion } from "../../api/schema";
import { plural } from "../../parts/format";
import type { Occasion } from "../../parts/occasion";

/** What was cut from a layer that did not fit. */
export interface Cut {
  /** Starts at 1; 0 if the cut is inside a line. */
  first_line: number;
  lines: number;
  tokens_before: number;
}

export type Layer = Omit<PromptLayer, "cut"> & { cut?: Cut | null };

/** Fields that only the owner receives are optional. */
export type Prompt = Omit<BuiltPrompt, "layers"> &
  Partial<Omit<ExplainedPrompt, keyof BuiltPrompt>> & { layers: Layer[] };

/** The owner may request anyone's prompt; other users only their own, with any agent and model. */
export function body(occasion: Occasion, owner: boolean): PromptOccasion {
  const { agent, model } = occasion;
  return (owner ? { ...occasion } : { agent, model }) as PromptOccasion;
}

export async function build(occasion: Occasion, owner: boolean, signal?: AbortSignal): Promise<Prompt> {
  const query = owner ? { explain: true } : {};
  return (await unwrap(
    api.POST("/api/v1/prompts/build", { params: { query }, body: body(occasion, owner), signal }),
  )) as Prompt;
}

/**
 * The owner's own prompt in private for the same agent: it shows the positions of withheld layers. Optional, and for
 * the owner only.
 */
export async function ownerPrompt(
  { agent, model }: Occasion,
  owner: boolean,
  signal?: AbortSignal,
): Promise<Prompt | undefined> {
  return owner ? build({ agent, model }, owner, signal).catch(() => undefined) : undefined;
}

/** The start of a provider request as formatted JSON. */
export async function request(format: "anthropic" | "openai", occasion: Occasion, owner: boolean): Promise<string> {
  const answer = await unwrap(
    api.POST("/api/v1/prompts/build", { params: { query: { format } }, body: body(occasion, owner), parseAs: "text" }),
  );
  return JSON.stringify(JSON.parse(answer as unknown as string), null, 2);
}

/** Whether the prompt contains its text, whole or in part. */
export function isIn(layer: Layer | undefined): boolean {
  return layer?.status === "included" || layer?.status === "cut";
}

/** Describes the effect of a changed occasion. */
export function describeEffect(prompt: Prompt): string {
  const withheld = prompt.layers.filter((layer) => layer.status === "withheld").length;
  const tokens = plural(prompt.tokens.total, "token");
  return withheld > 0 ? `${plural(withheld, "layer")} withheld, ${tokens}` : `nothing withheld, ${tokens}`;
}

/** For example `alice, private`; includes the agent only if it is not the default. */
export function describeOccasion(occasion: Occasion, self: string): string {
  const situation = !occasion.situation || occasion.situation === "dm" ? "private" : occasion.situation;
  return [occasion.user ?? self, situation, occasion.agent].filter(Boolean).join(", ");
}

/** The fields every user may choose; user and situation are for the owner only. */
export const OWN_FIELDS = ["agent", "model"] as const;

/** Navigates within the view. */
export type Move = (changes: Record<string, string | undefined>, how?: "push" | "replace") => void;
