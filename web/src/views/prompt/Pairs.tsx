// The two stacks, layer beside layer. A chosen pair opens to show its words.
import { DiffLater } from "../../parts/editor/DiffLater";
import { tokens } from "../../parts/figures";
import { Stability } from "../../parts/marks";
import { Ticked } from "../../parts/ticked";
import { visible } from "../../parts/visible";
import type { Both } from "./Compare";
import { Glimpse } from "./Stack";
import { scaleFor, thickness } from "./arrange";
import type { Pair } from "./compare";
import { type Layer, isIn } from "./prompt";
import { textOf } from "./ranges";

interface PairsProps {
  both: Both;
  pairs: Pair[];
  names: [string, string];
  open?: string;
  choose: (id: string) => void;
}

const SIGNS = { same: "=", differs: "≠", left: "◂", right: "▸" };

export function Pairs({ both, pairs, names, open, choose }: PairsProps) {
  const scale = scaleFor([both.a.tokens.total, both.b.tokens.total]) * 0.6;
  return (
    <ol class="pairs" aria-label="Layers side by side">
      {pairs.map((pair) => (
        <li key={pair.id}>
          <button class="pair" data-verdict={pair.verdict} aria-expanded={pair.id === open} onClick={() => choose(pair.id)}>
            <Side layer={pair.a} text={both.a.text} name={names[0]} scale={scale} />
            <span class="verdict"><span class="sign" aria-hidden="true">{SIGNS[pair.verdict]}</span> {pair.words}</span>
            <Side layer={pair.b} text={both.b.text} name={names[1]} scale={scale} />
          </button>
          {pair.id === open && <DiffLater before={words(both.a.text, pair.a)} after={words(both.b.text, pair.b)} labels={[`${pair.title}, ${names[0]}`, `${pair.title}, ${names[1]}`]} />}
        </li>
      ))}
    </ol>
  );
}

function Side({ layer, text, name, scale }: { layer?: Layer; text: string; name: string; scale: number }) {
  const there = isIn(layer) || layer?.status === "menu";
  if (!layer || !there) {
    return <span class="side missing"><span><span class="visually-hidden">{name}: </span>{layer ? <>{layer.status}{layer.reason && <>, <Ticked words={layer.reason} /></>}</> : "not here"}</span></span>;
  }
  const height = thickness(layer, scale);
  return (
    <span class="side" data-stability={layer.stability} data-status={layer.status} style={{ minHeight: `${height}px` }}>
      <span class="line"><span class="title">{visible(layer.title)}</span> <Stability of={layer.stability} /> <span class="weight number">{tokens(layer.tokens)}{layer.status === "menu" ? ", in the menu" : ""}</span></span>
      {isIn(layer) && <Glimpse text={text} layer={layer} height={height} />}
    </span>
  );
}

function words(text: string, layer: Layer | undefined): string {
  return layer && isIn(layer) ? textOf(text, layer).replace(/^\n+/, "") : "";
}
