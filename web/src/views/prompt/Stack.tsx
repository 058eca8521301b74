// The layers in the order the model reads them. Withheld ones stay as ghosts, so that it can be seen what this occasion lacks.
import type { Breakpoint } from "../../api/schema";
import { Fragment } from "preact";
import { useEffect, useState } from "preact/hooks";
import { stepAmong } from "../../parts/arrows";
import { many, tokens } from "../../parts/figures";
import { Stability, Trust } from "../../parts/marks";
import { Ticked } from "../../parts/ticked";
import { visible } from "../../parts/visible";
import { barHeight, breakpointsBehind, thickness } from "./arrange";
import { type Layer, type Prompt, isIn } from "./prompt";
import { glimpseOf } from "./ranges";

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
  const breakpoints = breakpointsBehind(prompt.layers, prompt.breakpoints);
  const firstTurn = rows.find((layer) => layer.stability === "turn" && isIn(layer))?.id;
  return (
    <ol class="layers" aria-label="Layers, in the order the model reads them" data-shown={shown ? "" : undefined} onKeyDown={(event) => stepAmong("button.layer", event)}>
      {rows.map((layer) => (
        <Fragment key={layer.id}>
          {layer.id === firstTurn && <Border key={`turn:${layer.id}`} prompt={prompt} />}
          <li key={layer.id} class="one"><LayerBar layer={layer} prompt={prompt} height={thickness(layer, scale)} bar={barHeight(layer, scale)} chosen={layer.id === chosen} choose={choose} /></li>
          {breakpoints.has(layer.id) && <Break key={`break:${layer.id}`} at={breakpoints.get(layer.id) as Breakpoint} />}
        </Fragment>
      ))}
      {prompt.breakpoints?.length === 0 && prompt.tokens.frozen > 0 && (
        <li class="break none">No cache breakpoint: all of it is smaller than the least this model keeps.</li>
      )}
    </ol>
  );
}

export function LayerBar({ layer, prompt, height, bar, chosen, choose }: { layer: Layer; prompt: Prompt; height: number; bar: number; chosen: boolean; choose: (layer: string) => void }) {
  const inside = isIn(layer);
  return (
    <button class="layer" data-layer={layer.id} data-stability={layer.stability} data-status={layer.status} aria-pressed={chosen} onClick={() => choose(layer.id)} style={{ height: `${height}px`, "--bar": `${bar}px` }}>
      <span class="line">
        <span class="title clip">{visible(layer.title)}</span>{" "}
        <span class="origin clip">{inside ? visible(origin(layer)) : <Ticked words={why(layer)} />}</span>{" "}
        {layer.status === "cut" && <span class="mark waiting">cut</span>}{" "}
        {layer.trust !== "public" && inside && <Trust of={layer.trust} />}{" "}
        <Stability of={layer.stability} />{" "}
        <span class="weight number">{layer.status === "withheld" ? "withheld" : tokens(layer.tokens)}</span>
      </span>
      {inside && <Glimpse text={prompt.text} layer={layer} height={height} />}
    </button>
  );
}

/** As much of its text as there is room for, in whole lines. */
export function Glimpse({ text, layer, height }: { text: string; layer: Layer; height: number }) {
  const lines = Math.floor((height - HEADLINE) / LINE);
  return lines < 1 ? null : <span class="glimpse" aria-hidden="true" style={{ maxHeight: `${lines * LINE}px` }}>{visible(glimpseOf(text, layer))}</span>;
}

/** The height of a layer's first line and of those below, in pixels; as in the styles. */
const HEADLINE = 35;
const LINE = 16;

function origin(layer: Layer): string {
  return layer.origin && layer.origin.toLowerCase() !== layer.title.toLowerCase() ? layer.origin : "";
}

function why(layer: Layer): string {
  if (layer.status === "menu") return "one line in the memory menu; the model can ask for it";
  return layer.reason ?? "not on this occasion";
}

function Break({ at }: { at: Breakpoint }) {
  return <li class="break" data-stability={at.class} title="The provider keeps what is above, and reads it again for a fraction of the price"><span>cache breakpoint: {many(at.tokens, "token")} above are kept</span></li>;
}

function Border({ prompt }: { prompt: Prompt }) {
  return <li class="border"><span>new with every turn, {prompt.turn_context ? "at the head of the message" : "at the end of the system text"}</span></li>;
}
