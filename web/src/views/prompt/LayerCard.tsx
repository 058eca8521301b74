// One layer to read: where it comes from, who may see it, what it weighs, what became of it, and its text.
import { useEffect, useRef } from "preact/hooks";
import { many } from "../../parts/figures";
import { State } from "../../parts/marks";
import { Ticked } from "../../parts/ticked";
import { visible } from "../../parts/visible";
import { href } from "../../shell/router";
import { Facts } from "./Facts";
import { type Layer, type Prompt, isIn } from "./prompt";
import { textOf } from "./ranges";

export function LayerCard({ prompt, layer, close, focus }: { prompt: Prompt; layer: Layer; close: () => void; focus: boolean }) {
  const title = useRef<HTMLHeadingElement>(null);
  // Whoever opened it with the keyboard reads on here; Escape leads back.
  useEffect(() => void (focus && title.current?.focus({ preventScroll: true })), []);
  return (
    <section class="layer-card card" data-stability={layer.stability} aria-label={`Layer ${layer.title}`} onKeyDown={(event) => event.key === "Escape" && close()}>
      <div class="row">
        <h2 class="grow wrap" ref={title} tabIndex={-1}>{visible(layer.title)}</h2>
        <State of={layer.status} />
        <button onClick={close}>Close</button>
      </div>
      <Facts layer={layer} total={prompt.tokens.total} />
      <Body prompt={prompt} layer={layer} />
      <Stored prompt={prompt} layer={layer} />
    </section>
  );
}

function Body({ prompt, layer }: { prompt: Prompt; layer: Layer }) {
  if (isIn(layer)) return <pre class="words" tabIndex={0} aria-label={`Text of ${layer.title}`}>{visible(textOf(prompt.text, layer).replace(/^\n+/, ""))}</pre>;
  if (layer.status === "menu") return <p class="quiet">The model reads one line about it in the memory menu. Loading all of it takes {many(layer.tokens, "token")}.</p>;
  const own = href("prompt", [], { agent: prompt.occasion?.agent, layer: layer.id });
  if (layer.status === "withheld") {
    return <p class="quiet">Nothing of it was read for this occasion{layer.reason && <>: it <Ticked words={layer.reason} /></>}. <a href={own}>See it in your own prompt</a>.</p>;
  }
  return <p class="quiet">There is nothing in it{layer.reason && <>: <Ticked words={layer.reason} /></>}.</p>;
}

/** Where a stored text is changed. */
function Stored({ prompt, layer }: { prompt: Prompt; layer: Layer }) {
  if (layer.source !== "stored") return null;
  const to = layer.origin?.startsWith("template") ? href("template") : href("layers", [layer.id], { agent: prompt.occasion?.agent });
  return <p><a href={to}>See its versions</a></p>;
}
