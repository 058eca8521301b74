// What a conversation would cost, as `foreword simulate` works it out.
import { api, asked } from "../../api/client";
import type { SimulatedWay, Simulation } from "../../api/schema";

export interface Wish {
  agent?: string;
  model?: string;
  turns: number;
  pause: string;
}

export function simulate(wish: Wish, signal: AbortSignal): Promise<Simulation> {
  return asked(api.GET("/api/v1/simulate", { params: { query: wish }, signal }));
}

export const WAY_NAMES: Record<string, { name: string; means: string; colour: string; dash?: number[] }> = {
  freeze_then_append: { name: "freeze, then append", means: "what Foreword does: the prompt is frozen, and news is told at the head of a message", colour: "--accent" },
  rebuild_each_turn: { name: "rebuilt each turn", means: "the same layers, made anew for every turn", colour: "--conversation", dash: [8, 4] },
  inject_everything: { name: "everything injected", means: "one flat text with every file whole, made anew for every turn", colour: "--turn", dash: [2, 4] },
};

export function wayOf(way: string) {
  return WAY_NAMES[way] ?? { name: way.replaceAll("_", " "), means: "", colour: "--quiet" };
}

/** In one sentence what the comparison says, whichever way it goes. */
export function verdictOf(ways: SimulatedWay[]): string | null {
  const own = ways.find((way) => way.way === "freeze_then_append");
  const others = ways.filter((way) => way !== own && typeof way.cost === "number");
  if (!own?.cost || others.length === 0) return null;
  const nearest = others.reduce((a, b) => ((b.cost ?? 0) < (a.cost ?? 0) ? b : a));
  const factor = (nearest.cost ?? 0) / own.cost;
  const { name } = wayOf(nearest.way);
  if (Math.abs(factor - 1) < 0.03) return `Freezing costs about the same as the next best way, “${name}”.`;
  return factor > 1
    ? `The next best way, “${name}”, costs ${factor.toFixed(1)} times as much as freezing the prompt.`
    : `Here freezing does not pay: “${name}” costs ${Math.round((1 - factor) * 100)} % less. The pauses may be longer than the cache lasts.`;
}

/** The points of a curve stand for stretches of turns, at most 50 of them; each is called by its first turn. */
export function turnLabels(points: number, turns: number): string[] {
  return Array.from({ length: points }, (_, at) => String(1 + Math.floor((at * turns) / points)));
}
