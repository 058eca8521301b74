// Two stacks aligned by layer. Selecting a pair shows its text diff.

import { StabilityBadge } from "../../parts/badges";
import { showBidiControls } from "../../parts/bidi";
import { CodeText } from "../../parts/code_text";
import { LazyDiff } from "../../parts/editor/LazyDiff";
import { tokens } from "../../parts/format";
import type { ComparedPrompts } from "./Compare";
import type { Pair } from "./compare";
import { isIn, type Layer } from "./prompt";
import { textOf } from "./ranges";
import { Excerpt } from "./Stack";
import { heightOf, scaleFor } from "./stack_layout";

interface LayerPairsProps {
  both: ComparedPrompts;
  pairs: Pair[];
  names: [string, string];
  open?: string;
  choose: (id: string) => void;
}

const SIGNS = { same: "=", differs: "≠", left: "◂", right: "▸" };

export function LayerPairs({ both, pairs, names, open, choose }: LayerPairsProps) {
  const scale = scaleFor([both.a.tokens.total, both.b.tokens.total]) * 0.6;
  return (
    <ol class="pairs" aria-label="Layers side by side">
      {pairs.map((pair) => (
        <li key={pair.id}>
          <button
            type="button"
            class="pair"
            data-verdict={pair.verdict}
            aria-expanded={pair.id === open}
            onClick={() => choose(pair.id)}
          >
            <Side layer={pair.a} text={both.a.text} name={names[0]} scale={scale} />
            <span class="verdict">
              <span class="sign" aria-hidden="true">
                {SIGNS[pair.verdict]}
              </span>{" "}
              {pair.words}
            </span>
            <Side layer={pair.b} text={both.b.text} name={names[1]} scale={scale} />
          </button>
          {pair.id === open && (
            <LazyDiff
              before={words(both.a.text, pair.a)}
              after={words(both.b.text, pair.b)}
              labels={[`${pair.title}, ${names[0]}`, `${pair.title}, ${names[1]}`]}
            />
          )}
        </li>
      ))}
    </ol>
  );
}

function Side({ layer, text, name, scale }: { layer?: Layer; text: string; name: string; scale: number }) {
  const isPresent = isIn(layer) || layer?.status === "menu";
  if (!layer || !isPresent) {
    return (
      <span class="side missing">
        <span>
          <span class="visually-hidden">{name}: </span>
          {layer ? (
            <>
              {layer.status}
              {layer.reason && (
                <>
                  , <CodeText words={layer.reason} />
                </>
              )}
            </>
          ) : (
            "not here"
          )}
        </span>
      </span>
    );
  }
  const height = heightOf(layer, scale);
  return (
    <span class="side" data-stability={layer.stability} data-status={layer.status} style={{ minHeight: `${height}px` }}>
      <span class="line">
        <span class="title">{showBidiControls(layer.title)}</span> <StabilityBadge of={layer.stability} />{" "}
        <span class="weight number">
          {tokens(layer.tokens)}
          {layer.status === "menu" ? ", in the menu" : ""}
        </span>
      </span>
      {isIn(layer) && <Excerpt text={text} layer={layer} height={height} />}
    </span>
  );
}

function words(text: string, layer: Layer | undefined): string {
  return layer && isIn(layer) ? textOf(text, layer).replace(/^\n+/, "") : "";
}
