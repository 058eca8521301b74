// The layers in prompt order. Withheld layers stay visible as outlines, to show what this occasion lacks.

import { Fragment } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Breakpoint } from "../../api/schema";
import { moveFocus } from "../../parts/arrow_keys";
import { StabilityBadge, TrustBadge } from "../../parts/badges";
import { showBidiControls } from "../../parts/bidi";
import { CodeText } from "../../parts/code_text";
import { plural, tokens } from "../../parts/format";
import { isIn, type Layer, type Prompt } from "./prompt";
import { excerptOf } from "./ranges";
import { barHeight, breakpointsAfter, heightOf } from "./stack_layout";

interface StackProps {
  prompt: Prompt;
  rows: Layer[];
  scale: number;
  chosen?: string;
  choose: (layer: string) => void;
}

export function Stack({ prompt, rows, scale, chosen, choose }: StackProps) {
  const [shown, setShown] = useState(false);
  useEffect(() => setShown(true), []);
  const breakpoints = breakpointsAfter(prompt.layers, prompt.breakpoints);
  const firstTurn = rows.find((layer) => layer.stability === "turn" && isIn(layer))?.id;
  return (
    <ol
      class="layers"
      aria-label="Layers, in the order the model reads them"
      data-shown={shown ? "" : undefined}
      onKeyDown={(event) => moveFocus("button.layer", event)}
    >
      {rows.map((layer) => (
        <Fragment key={layer.id}>
          {layer.id === firstTurn && <Border key={`turn:${layer.id}`} prompt={prompt} />}
          <li key={layer.id} class="one">
            <LayerBar
              layer={layer}
              prompt={prompt}
              height={heightOf(layer, scale)}
              bar={barHeight(layer, scale)}
              chosen={layer.id === chosen}
              choose={choose}
            />
          </li>
          {breakpoints.has(layer.id) && (
            <BreakpointLine key={`break:${layer.id}`} at={breakpoints.get(layer.id) as Breakpoint} />
          )}
        </Fragment>
      ))}
      {prompt.breakpoints?.length === 0 && prompt.tokens.frozen > 0 && (
        <li class="break none">No cache breakpoint: the prompt is shorter than this model's minimum.</li>
      )}
    </ol>
  );
}

export function LayerBar({
  layer,
  prompt,
  height,
  bar,
  chosen,
  choose,
}: {
  layer: Layer;
  prompt: Prompt;
  height: number;
  bar: number;
  chosen: boolean;
  choose: (layer: string) => void;
}) {
  const inside = isIn(layer);
  return (
    <button
      type="button"
      class="layer"
      data-layer={layer.id}
      data-stability={layer.stability}
      data-status={layer.status}
      aria-pressed={chosen}
      onClick={() => choose(layer.id)}
      style={{ height: `${height}px`, "--bar": `${bar}px` }}
    >
      <span class="line">
        <span class="title clip">{showBidiControls(layer.title)}</span>{" "}
        <span class="origin clip">{inside ? showBidiControls(origin(layer)) : <CodeText words={why(layer)} />}</span>{" "}
        {layer.status === "cut" && <span class="badge waiting">cut</span>}{" "}
        {layer.trust !== "public" && inside && <TrustBadge of={layer.trust} />} <StabilityBadge of={layer.stability} />{" "}
        <span class="weight number">{layer.status === "withheld" ? "withheld" : tokens(layer.tokens)}</span>
      </span>
      {inside && <Excerpt text={prompt.text} layer={layer} height={height} />}
    </button>
  );
}

/** As many whole lines of its text as fit. */
export function Excerpt({ text, layer, height }: { text: string; layer: Layer; height: number }) {
  const lines = Math.floor((height - HEADER_HEIGHT_PX) / LINE_HEIGHT_PX);
  return lines < 1 ? null : (
    <span class="glimpse" aria-hidden="true" style={{ maxHeight: `${lines * LINE_HEIGHT_PX}px` }}>
      {showBidiControls(excerptOf(text, layer))}
    </span>
  );
}

/** Height of a layer's header line and of its text lines in pixels; matches the style sheet. */
const HEADER_HEIGHT_PX = 35;
const LINE_HEIGHT_PX = 16;

function origin(layer: Layer): string {
  return layer.origin && layer.origin.toLowerCase() !== layer.title.toLowerCase() ? layer.origin : "";
}

function why(layer: Layer): string {
  if (layer.status === "menu") return "one line in the memory menu; the model can load it";
  return layer.reason ?? "not on this occasion";
}

function BreakpointLine({ at }: { at: Breakpoint }) {
  return (
    <li
      class="break"
      data-stability={at.class}
      title="The provider caches everything above and charges less for reading it"
    >
      <span>cache breakpoint: {plural(at.tokens, "token")} above are cached</span>
    </li>
  );
}

function Border({ prompt }: { prompt: Prompt }) {
  return (
    <li class="border">
      <span>
        new with every turn, {prompt.turn_context ? "at the head of the message" : "at the end of the system text"}
      </span>
    </li>
  );
}
