// The blueprint's layers that are absent or empty on this occasion, collapsed.

import { showBidiControls } from "../../parts/bidi";
import { CodeText } from "../../parts/code_text";
import { plural } from "../../parts/format";
import type { Layer } from "./prompt";

export function AbsentLayers({
  layers,
  chosen,
  choose,
}: {
  layers: Layer[];
  chosen?: string;
  choose: (layer: string) => void;
}) {
  if (layers.length === 0) return null;
  return (
    <details class="nothing">
      <summary>
        {plural(layers.length, "layer")} with nothing in {layers.length === 1 ? "it" : "them"}
      </summary>
      <ul>
        {layers.map((layer) => (
          <li key={layer.id}>
            <button
              type="button"
              class="plain"
              data-layer={layer.id}
              aria-pressed={layer.id === chosen}
              onClick={() => choose(layer.id)}
            >
              {showBidiControls(layer.title)}
            </button>{" "}
            <span class="quiet">
              {layer.status}
              {layer.reason && (
                <>
                  : <CodeText words={layer.reason} />
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}
