// The stack, with the selected layer or the legend next to it.
import { useRef } from "preact/hooks";
import { Dialog } from "../../parts/dialog";
import { AbsentLayers } from "./AbsentLayers";
import { LayerCard } from "./LayerCard";
import { Legend } from "./Legend";
import { ONE_COLUMN, useMedia } from "./media_query";
import type { Prompt } from "./prompt";
import { Stack } from "./Stack";
import { arrange, scaleFor } from "./stack_layout";

export function StackTab({
  prompt,
  ownerPrompt,
  chosen,
  choose,
}: {
  prompt: Prompt;
  ownerPrompt?: Prompt;
  chosen?: string;
  choose: (layer?: string) => void;
}) {
  const stack = useRef<HTMLDivElement>(null);
  // On a narrow screen a layer opens above the stack.
  const narrow = useMedia(ONE_COLUMN);
  const { rows, nothing } = arrange(prompt.layers, ownerPrompt?.layers);
  const scale = scaleFor([prompt.tokens.total, ownerPrompt?.tokens.total ?? 0]);
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
        <AbsentLayers layers={nothing} chosen={layer?.id} choose={choose} />
      </div>
      <div class="aside">
        {card && !narrow && card}
        {card && narrow && (
          <Dialog title={`Layer ${layer.title}`} close={close}>
            {card}
          </Dialog>
        )}
        <Legend prompt={prompt} />
      </div>
    </>
  );
}
