// The prompt as plain text, and the layer under the pointer, the cursor or the focus.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { moveFocus } from "../../parts/arrow_keys";
import { showBidiControls } from "../../parts/bidi";
import { LayerFacts } from "./LayerFacts";
import type { Layer, Prompt } from "./prompt";
import { type Group, groupsOf } from "./ranges";

export function TextTab({ prompt }: { prompt: Prompt }) {
  const text = useRef<HTMLDivElement>(null);
  const [id, setId] = useState<string>();
  useEffect(() => {
    // Clicks and selections in read-only text fire no event of their own, only the document's `selectionchange`.
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
      <div
        class="body flat"
        ref={text}
        onPointerOver={show}
        onFocusIn={show}
        onKeyDown={(event) => moveFocus(".lines", event)}
      >
        {groups.map((group) => (
          <Lines key={group.first} group={group} here={group.layer !== null && group.layer.id === layer?.id} />
        ))}
        {prompt.text === "" && <p class="quiet">No text: the blueprint has no layers for this occasion.</p>}
      </div>
      <div class="aside">{layer && <HoveredLayer layer={layer} prompt={prompt} />}</div>
    </>
  );
}

function Lines({ group, here }: { group: Group<Layer>; here: boolean }) {
  const { layer } = group;
  return (
    <section
      class="lines"
      data-layer={layer?.id}
      data-stability={layer?.stability}
      data-here={here ? "" : undefined}
      tabIndex={0}
      aria-label={layer ? `${layer.title}, ${layer.stability}` : "between layers"}
    >
      {group.lines.map((line, at) => (
        <div class="text-line" key={at} data-line={group.first + at}>
          {line.parts.length === 1
            ? showBidiControls(line.parts[0]?.text ?? "")
            : line.parts.map((part, at) => (
                <span key={at} data-layer={part.layer?.id}>
                  {showBidiControls(part.text)}
                </span>
              ))}
        </div>
      ))}
    </section>
  );
}

function HoveredLayer({ layer, prompt }: { layer: Layer; prompt: Prompt }) {
  const inText = prompt.layers.filter((one) => (one.range[1] ?? 0) > (one.range[0] ?? 0));
  return (
    <section class="layer-card card" data-stability={layer.stability} aria-label="Layer under the cursor">
      <p class="quiet">
        Layer {inText.findIndex((one) => one.id === layer.id) + 1} of {inText.length}
      </p>
      <h2 class="wrap" aria-live="polite">
        {showBidiControls(layer.title)}
      </h2>
      <LayerFacts layer={layer} total={prompt.tokens.total} />
      <p class="quiet">
        Hover over the text, click it, or navigate with <kbd>Tab</kbd> and the arrow keys.
      </p>
    </section>
  );
}

/** The layer of the closest annotated ancestor of `node`. */
function layerAt(node: Node): string | null {
  const element = node instanceof Element ? node : node.parentElement;
  return element?.closest<HTMLElement>("[data-layer]")?.dataset.layer ?? null;
}
