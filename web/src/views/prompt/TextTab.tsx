// The prompt as flat text, as the model reads it. Beside it: the layer under the pointer, the cursor or the focus.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { stepAmong } from "../../parts/arrows";
import { visible } from "../../parts/visible";
import { Facts } from "./Facts";
import type { Layer, Prompt } from "./prompt";
import { type Group, groupsOf } from "./ranges";

export function TextTab({ prompt }: { prompt: Prompt }) {
  const text = useRef<HTMLDivElement>(null);
  const [id, setId] = useState<string>();
  useEffect(() => {
    // A click or a selection moves the document's cursor, which has no event of its own on a text that can't be edited.
    const moved = () => {
      const node = document.getSelection()?.focusNode;
      if (node && text.current?.contains(node)) setId(layerAt(node) ?? undefined);
    };
    document.addEventListener("selectionchange", moved);
    return () => document.removeEventListener("selectionchange", moved);
  }, []);
  const show = (event: Event) => event.target instanceof Node && setId(layerAt(event.target) ?? undefined);
  const groups = useMemo(() => groupsOf(prompt.text, prompt.layers), [prompt]);
  const layer = prompt.layers.find((layer) => layer.id === id) ?? groups.find((group) => group.layer)?.layer;
  return (
    <>
      <div class="body flat" ref={text} onPointerOver={show} onFocusIn={show} onKeyDown={(event) => stepAmong(".lines", event)}>
        {groups.map((group) => <Lines key={group.first} group={group} here={group.layer !== null && group.layer.id === layer?.id} />)}
        {prompt.text === "" && <p class="quiet">There is no text: this blueprint has nothing for this occasion.</p>}
      </div>
      <div class="aside">{layer && <Here layer={layer} prompt={prompt} />}</div>
    </>
  );
}

function Lines({ group, here }: { group: Group<Layer>; here: boolean }) {
  const { layer } = group;
  return (
    <section class="lines" data-layer={layer?.id} data-stability={layer?.stability} data-here={here ? "" : undefined} tabIndex={0} aria-label={layer ? `${layer.title}, ${layer.stability}` : "between layers"}>
      {group.lines.map((line, at) => (
        <div class="text-line" key={at} data-line={group.first + at}>
          {line.parts.length === 1 ? visible(line.parts[0]?.text ?? "") : line.parts.map((part, at) => <span key={at} data-layer={part.layer?.id}>{visible(part.text)}</span>)}
        </div>
      ))}
    </section>
  );
}

function Here({ layer, prompt }: { layer: Layer; prompt: Prompt }) {
  const inText = prompt.layers.filter((one) => (one.range[1] ?? 0) > (one.range[0] ?? 0));
  return (
    <section class="layer-card card" data-stability={layer.stability} aria-label="Layer under the cursor">
      <p class="quiet">Layer {inText.findIndex((one) => one.id === layer.id) + 1} of {inText.length}</p>
      <h2 class="wrap" aria-live="polite">{visible(layer.title)}</h2>
      <Facts layer={layer} total={prompt.tokens.total} />
      <p class="quiet">Point at the text, click into it, or go through it with <kbd>Tab</kbd> and the arrow keys.</p>
    </section>
  );
}

/** The layer of the nearest element around `node` that has one. */
function layerAt(node: Node): string | null {
  const element = node instanceof Element ? node : node.parentElement;
  return element?.closest<HTMLElement>("[data-layer]")?.dataset.layer ?? null;
}
