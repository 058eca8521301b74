// The stack with what stands beside it: the chosen layer, or what the colours mean.
import { useEffect, useRef, useState } from "preact/hooks";
import { Dialog } from "../../parts/dialog";
import { LayerCard } from "./LayerCard";
import { Legend } from "./Legend";
import { Nothing } from "./Nothing";
import { Stack } from "./Stack";
import { arranged, scaleFor } from "./arrange";
import type { Prompt } from "./prompt";

export function StackTab({ prompt, whole, chosen, choose }: { prompt: Prompt; whole?: Prompt; chosen?: string; choose: (layer?: string) => void }) {
  const stack = useRef<HTMLDivElement>(null);
  const narrow = useNarrow();
  const { rows, nothing } = arranged(prompt.layers, whole?.layers);
  const scale = scaleFor([prompt.tokens.total, whole?.tokens.total ?? 0]);
  const layer = prompt.layers.find((layer) => layer.id === chosen);
  const close = () => {
    choose(undefined);
    if (chosen) stack.current?.querySelector<HTMLElement>(`[data-layer="${CSS.escape(chosen)}"]`)?.focus();
  };
  const card = layer && <LayerCard prompt={prompt} layer={layer} close={close} focus={!narrow} key={layer.id} />;
  return (
    <>
      <div class="body" ref={stack}>
        <Stack prompt={prompt} rows={rows} scale={scale} chosen={layer?.id} choose={choose} />
        <Nothing layers={nothing} chosen={layer?.id} choose={choose} />
      </div>
      <div class="aside">
        {card && !narrow && card}
        {card && narrow && <Dialog title={`Layer ${layer.title}`} close={close}>{card}</Dialog>}
        <Legend prompt={prompt} />
      </div>
    </>
  );
}

/** Whether there is room for one column only: a layer then opens above the stack. */
function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(() => matchMedia(NARROW).matches);
  useEffect(() => {
    const query = matchMedia(NARROW);
    const changed = () => setNarrow(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return narrow;
}

const NARROW = "(max-width: 64rem)";
