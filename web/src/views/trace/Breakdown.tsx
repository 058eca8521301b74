// Time and cost by kind of work, as a bar and as a table.
import { duration, money, share } from "../../parts/format";
import type { Portion } from "./breakdown";

export function Breakdown({ portions, whole }: { portions: Portion[]; whole: number }) {
  const shown = portions.filter((portion) => portion.ms > 0 || portion.cost !== null);
  return (
    <section class="card breakdown" aria-label="Time and cost">
      <h2>Time and cost</h2>
      <div class="bar" aria-hidden="true">
        {shown
          .filter((portion) => portion.ms > 0)
          .map((portion) => (
            <span key={portion.kind} data-kind={portion.kind} style={{ width: `${(portion.ms / whole) * 100}%` }} />
          ))}
      </div>
      <table>
        <thead class="visually-hidden">
          <tr>
            <th scope="col">What</th>
            <th scope="col">Time</th>
            <th scope="col">Share</th>
            <th scope="col">Cost</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((portion) => (
            <tr key={portion.kind}>
              <th scope="row">
                <span class="swatch" data-kind={portion.kind} aria-hidden="true" /> {portion.name}
              </th>
              <td class="number">{duration(portion.ms)}</td>
              <td class="number">{share(portion.ms / whole)}</td>
              <td class="number">{portion.cost === null ? "" : money(portion.cost)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
