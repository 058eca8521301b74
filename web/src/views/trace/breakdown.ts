// Time and cost of a turn by kind of work. No millisecond counts twice: waits take precedence over spans that contain
// them.

import type { Kind } from "./kinds";
import type { Row } from "./spans";

export interface Portion {
  name: string;
  kind: Kind | "rest";
  ms: number;
  cost: number | null;
}

type Piece = [from: number, to: number];

const ORDER: { kind: Kind; name: string }[] = [
  { kind: "wait", name: "waiting" },
  { kind: "model", name: "models" },
  { kind: "tool", name: "tools and memory" },
  { kind: "prepare", name: "trust and prompt" },
];

export function breakdownOf(rows: Row[], whole: number): Portion[] {
  let taken: Piece[] = [];
  const portions: Portion[] = ORDER.map(({ kind, name }) => {
    const own = joined(
      rows.filter((row) => row.kind === kind || (kind === "model" && row.kind === "failed")).map(pieceOf),
    );
    const before = lengthOf(taken);
    taken = joined([...taken, ...own]);
    return { name, kind, ms: lengthOf(taken) - before, cost: kind === "model" ? callsCost(rows) : null };
  });
  return [...portions, { name: "everything else", kind: "rest", ms: Math.max(0, whole - lengthOf(taken)), cost: null }];
}

/** The recorded cost of these rows' calls. */
export function callsCost(rows: Row[]): number | null {
  const costs = rows
    .filter((row) => row.kind === "model" || row.kind === "failed")
    .map((row) => row.cost)
    .filter((cost) => cost !== null);
  return costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0);
}

function pieceOf(row: Row): Piece {
  return [row.span.offset_ms, row.span.offset_ms + row.span.duration_ms];
}

function joined(splitUntrusted: Piece[]): Piece[] {
  const result: Piece[] = [];
  for (const [from, to] of [...splitUntrusted].sort((a, b) => a[0] - b[0])) {
    const last = result.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else result.push([from, to]);
  }
  return result;
}

function lengthOf(splitUntrusted: Piece[]): number {
  return splitUntrusted.reduce((sum, [from, to]) => sum + to - from, 0);
}
