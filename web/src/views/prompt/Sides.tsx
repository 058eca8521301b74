// What two prompts come to, one beside the other.
import { count, money } from "../../parts/figures";
import type { Both } from "./Compare";
import type { Prompt } from "./prompt";

export function Sides({ both, names }: { both: Both; names: [string, string] }) {
  return (
    <div class="table sides" role="region" aria-label="Totals of both" tabIndex={0}>
      <table>
        <thead><tr><th scope="col">In all</th><th scope="col" class="number">{names[0]}</th><th scope="col" class="number">{names[1]}</th><th scope="col" class="number">Difference</th></tr></thead>
        <tbody>
          <Amount name="Tokens" of={(prompt) => prompt.tokens.total} both={both} shown={count} />
          <Amount name="Frozen" of={(prompt) => prompt.tokens.frozen} both={both} shown={count} />
          {both.a.price && <Amount name="Warm turn" of={(prompt) => prompt.price?.warm} both={both} shown={money} />}
          {both.a.price && <Amount name="Cold turn" of={(prompt) => prompt.price?.cold} both={both} shown={money} />}
          <tr><th scope="row">Trust</th><td class="number">{both.a.trust.effective}</td><td class="number">{both.b.trust.effective}</td><td class="number quiet">{both.a.trust.effective === both.b.trust.effective ? "none" : "other trust"}</td></tr>
        </tbody>
      </table>
    </div>
  );
}

function Amount({ name, of, both, shown }: { name: string; of: (prompt: Prompt) => number | null | undefined; both: Both; shown: (value: number | null | undefined) => string }) {
  const [a, b] = [of(both.a), of(both.b)];
  const by = typeof a === "number" && typeof b === "number" ? b - a : undefined;
  const words = by === undefined ? "–" : by === 0 ? "none" : `${by > 0 ? "+" : "−"}${shown(Math.abs(by))}`;
  return <tr><th scope="row">{name}</th><td class="number">{shown(a)}</td><td class="number">{shown(b)}</td><td class="number">{words}</td></tr>;
}
