// The cost of a simulated conversation, as `foreword simulate` computes it.
import { api, unwrap } from "../../api/client";
import type { SimulatedStrategy, Simulation } from "../../api/schema";

export interface SimulationRequest {
  agent?: string;
  model?: string;
  turns: number;
  pause: string;
}

export function simulate(request: SimulationRequest, signal: AbortSignal): Promise<Simulation> {
  return unwrap(api.GET("/api/v1/simulate", { params: { query: request }, signal }));
}

export const METHOD_NAMES: Record<string, { name: string; means: string; colour: string; dash?: number[] }> = {
  freeze_then_append: {
    name: "freeze, then append",
    means: "what Foreword does: the prompt is frozen, and changes are sent at the start of a message",
    colour: "--accent",
  },
  rebuild_each_turn: {
    name: "rebuilt each turn",
    means: "the same layers, rebuilt every turn",
    colour: "--conversation",
    dash: [8, 4],
  },
  inject_everything: {
    name: "everything injected",
    means: "one text with every file in full, rebuilt every turn",
    colour: "--turn",
    dash: [2, 4],
  },
};

export function methodName(strategy: string) {
  return METHOD_NAMES[strategy] ?? { name: strategy.replaceAll("_", " "), means: "", colour: "--quiet" };
}

/** Summarises the comparison in one sentence. */
export function verdictOf(strategies: SimulatedStrategy[]): string | null {
  const own = strategies.find((strategy) => strategy.strategy === "freeze_then_append");
  const others = strategies.filter((strategy) => strategy !== own && typeof strategy.cost === "number");
  if (!own?.cost || others.length === 0) return null;
  const nearest = others.reduce((a, b) => ((b.cost ?? 0) < (a.cost ?? 0) ? b : a));
  const factor = (nearest.cost ?? 0) / own.cost;
  const { name } = methodName(nearest.strategy);
  if (Math.abs(factor - 1) < 0.03) return `Freezing costs about the same as the next best method, “${name}”.`;
  return factor > 1
    ? `The next best method, “${name}”, costs ${factor.toFixed(1)} times as much as freezing the prompt.`
    : `Freezing is not the cheapest here: “${name}” costs ${Math.round((1 - factor) * 100)} % less. The pauses may be longer than the cache lasts.`;
}

/** Each point of a curve covers a range of turns, at most 50 points in all; its label is the first turn. */
export function turnLabels(points: number, turns: number): string[] {
  return Array.from({ length: points }, (_, at) => String(1 + Math.floor((at * turns) / points)));
}
