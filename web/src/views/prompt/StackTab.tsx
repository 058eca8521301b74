// The stack with what stands beside it: the chosen layer, or what the colours mean.
import { useRef } from "preact/hooks";
import { Dialog } from "../../parts/dialog";
import { LayerCard } from "./LayerCard";
import { Legend } from "./Legend";
import { Nothing } from "./Nothing";
import { Stack } from "./Stack";
import { arranged, scaleFor } from "./arrange";
import { ONE_COLUMN, useMedia } from "./narrow";
import type { Prompt } from "./prompt";

export function StackTab({ prompt, whole, chosen, choose }: { prompt: Prompt; whole?: Prompt; chosen?: string; choose: (layer?: string) => void }) {
  const stack = useRef<HTMLDivElement>(null);
  // A layer then opens above the stack.
  const narrow = useMedia(ONE_COLUMN);
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
