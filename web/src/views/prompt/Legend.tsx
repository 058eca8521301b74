// The legend of the stability colours, with token counts.

import { StabilityBadge, stabilityDescription } from "../../parts/badges";
import { count, share } from "../../parts/format";
import type { Prompt } from "./prompt";
import { shares } from "./stack_layout";

export function Legend({ prompt }: { prompt: Prompt }) {
  const all = shares(prompt);
  const total = all.reduce((sum, one) => sum + one.tokens, 0);
  return (
    <section class="legend card" aria-label="Stability">
      <h2>Stability</h2>
      <div class="bar" aria-hidden="true">
        {all
          .filter((one) => one.tokens > 0)
          .map((one) => (
            <span key={one.stability} data-stability={one.stability} style={{ flexGrow: one.tokens }} />
          ))}
      </div>
      <dl>
        {all.map((one) => (
          <div key={one.stability}>
            <dt>
              <StabilityBadge of={one.stability} />
            </dt>
            <dd class="means">{stabilityDescription(one.stability)}</dd>
            <dd class="number">{count(one.tokens)} tok</dd>
            <dd class="number quiet">{total > 0 ? share(one.tokens / total) : "–"}</dd>
          </div>
        ))}
      </dl>
      <p class="quiet">
        The height of a layer is proportional to its tokens. Small layers are at least one line high; the bar on the
        left shows their true size.
      </p>
      <p class="quiet">
        Providers cache the prefix of a prompt. The most stable layers come first, so that a change invalidates as
        little as possible.
      </p>
    </section>
  );
}
