// Layers of the blueprint that there is nothing of on this occasion, folded away.
import { many } from "../../parts/figures";
import { Ticked } from "../../parts/ticked";
import { visible } from "../../parts/visible";
import type { Layer } from "./prompt";

export function Nothing({ layers, chosen, choose }: { layers: Layer[]; chosen?: string; choose: (layer: string) => void }) {
  if (layers.length === 0) return null;
  return (
    <details class="nothing">
      <summary>{many(layers.length, "layer")} with nothing in {layers.length === 1 ? "it" : "them"}</summary>
      <ul>
        {layers.map((layer) => (
          <li key={layer.id}>
            <button class="plain" data-layer={layer.id} aria-pressed={layer.id === chosen} onClick={() => choose(layer.id)}>{visible(layer.title)}</button>{" "}
            <span class="quiet">{layer.status}{layer.reason && <>: <Ticked words={layer.reason} /></>}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}
