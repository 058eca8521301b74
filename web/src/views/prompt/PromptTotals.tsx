// The totals of two prompts side by side.
import { count, money } from "../../parts/format";
import type { ComparedPrompts } from "./Compare";
import type { Prompt } from "./prompt";

export function PromptTotals({ both, names }: { both: ComparedPrompts; names: [string, string] }) {
  return (
    <div class="table sides as-cards" role="region" aria-label="Totals of both" tabIndex={0}>
      <table role="table">
        <thead role="rowgroup">
          <tr role="row">
            <th role="columnheader" scope="col">
              Total
            </th>
            <th role="columnheader" scope="col" class="number">
              {names[0]}
            </th>
            <th role="columnheader" scope="col" class="number">
              {names[1]}
            </th>
            <th role="columnheader" scope="col" class="number">
              Difference
            </th>
          </tr>
        </thead>
        <tbody role="rowgroup">
          <Amount names={names} name="Tokens" of={(prompt) => prompt.tokens.total} both={both} shown={count} />
          <Amount names={names} name="Frozen" of={(prompt) => prompt.tokens.frozen} both={both} shown={count} />
          {both.a.price && (
            <Amount names={names} name="Warm turn" of={(prompt) => prompt.price?.warm} both={both} shown={money} />
          )}
          {both.a.price && (
            <Amount names={names} name="Cold turn" of={(prompt) => prompt.price?.cold} both={both} shown={money} />
          )}
          <tr role="row">
            <th role="rowheader" scope="row">
              Trust
            </th>
            <td role="cell" class="number" data-label={names[0]}>
              {both.a.trust.effective}
            </td>
            <td role="cell" class="number" data-label={names[1]}>
              {both.b.trust.effective}
            </td>
            <td role="cell" class="number quiet" data-label="difference">
              {both.a.trust.effective === both.b.trust.effective ? "none" : "other trust"}
            </td>
          </tr>
        </tbody>
      </table>
    </div>
  );
}

function Amount({
  name,
  names,
  of,
  both,
  shown,
}: {
  name: string;
  names: [string, string];
  of: (prompt: Prompt) => number | null | undefined;
  both: ComparedPrompts;
  shown: (value: number | null | undefined) => string;
}) {
  const [a, b] = [of(both.a), of(both.b)];
  const by = typeof a === "number" && typeof b === "number" ? b - a : undefined;
  const words = by === undefined ? "–" : by === 0 ? "none" : `${by > 0 ? "+" : "−"}${shown(Math.abs(by))}`;
  return (
    <tr role="row">
      <th role="rowheader" scope="row">
        {name}
      </th>
      <td role="cell" class="number" data-label={names[0]}>
        {shown(a)}
      </td>
      <td role="cell" class="number" data-label={names[1]}>
        {shown(b)}
      </td>
      <td role="cell" class="number" data-label="difference">
        {words}
      </td>
    </tr>
  );
}
