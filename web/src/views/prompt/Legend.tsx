// What the colours mean, and what each of them weighs here.
import { count, share } from "../../parts/figures";
import { Stability, stabilityMeans } from "../../parts/marks";
import { shares } from "./arrange";
import type { Prompt } from "./prompt";

export function Legend({ prompt }: { prompt: Prompt }) {
  const all = shares(prompt);
  const total = all.reduce((sum, one) => sum + one.tokens, 0);
  return (
    <section class="legend card" aria-label="Stability">
      <h2>How long it stays the same</h2>
      <div class="bar" aria-hidden="true">
        {all.filter((one) => one.tokens > 0).map((one) => <span key={one.stability} data-stability={one.stability} style={{ flexGrow: one.tokens }} />)}
      </div>
      <dl>
        {all.map((one) => (
          <div key={one.stability}>
            <dt><Stability of={one.stability} /></dt>
            <dd class="means">{stabilityMeans(one.stability)}</dd>
            <dd class="number">{count(one.tokens)} tok</dd>
            <dd class="number quiet">{total > 0 ? share(one.tokens / total) : "–"}</dd>
          </div>
        ))}
      </dl>
      <p class="quiet">A layer is as thick as its tokens. Small layers are shown at least one line high; the bar at the left edge tells their true size.</p>
      <p class="quiet">A provider caches a prompt from its beginning. What changes least comes first, so that a change leaves most of it cached.</p>
    </section>
  );
}
