// The details of a layer: source, required trust, token count, state and text.
import { useEffect, useRef } from "preact/hooks";
import { StateBadge } from "../../parts/badges";
import { showBidiControls } from "../../parts/bidi";
import { CodeText } from "../../parts/code_text";
import { plural } from "../../parts/format";
import { href } from "../../shell/router";
import { LayerFacts } from "./LayerFacts";
import { isIn, type Layer, type Prompt } from "./prompt";
import { textOf } from "./ranges";

export function LayerCard({
  prompt,
  layer,
  close,
  focus,
}: {
  prompt: Prompt;
  layer: Layer;
  close: () => void;
  focus: boolean;
}) {
  const title = useRef<HTMLHeadingElement>(null);
  // Takes the focus when opened by keyboard; Escape returns it.
  useEffect(() => void (focus && title.current?.focus({ preventScroll: true })), []);
  return (
    <section
      class="layer-card card"
      data-stability={layer.stability}
      aria-label={`Layer ${layer.title}`}
      onKeyDown={(event) => event.key === "Escape" && close()}
    >
      <div class="row">
        <h2 class="grow wrap" ref={title} tabIndex={-1}>
          {showBidiControls(layer.title)}
        </h2>
        <StateBadge of={layer.status} />
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
      <LayerFacts layer={layer} total={prompt.tokens.total} />
      <Body prompt={prompt} layer={layer} />
      <EditLink prompt={prompt} layer={layer} />
    </section>
  );
}

function Body({ prompt, layer }: { prompt: Prompt; layer: Layer }) {
  if (isIn(layer))
    return (
      <pre class="words" tabIndex={0} aria-label={`Text of ${layer.title}`}>
        {showBidiControls(textOf(prompt.text, layer).replace(/^\n+/, ""))}
      </pre>
    );
  if (layer.status === "menu")
    return (
      <p class="quiet">The memory menu has one line about it. Loading it takes {plural(layer.tokens, "token")}.</p>
    );
  const own = href("prompt", [], { agent: prompt.occasion?.agent, layer: layer.id });
  if (layer.status === "withheld") {
    return (
      <p class="quiet">
        Not loaded for this occasion
        {layer.reason && (
          <>
            : it <CodeText words={layer.reason} />
          </>
        )}
        . <a href={own}>See it in your own prompt</a>.
      </p>
    );
  }
  return (
    <p class="quiet">
      It is empty
      {layer.reason && (
        <>
          : <CodeText words={layer.reason} />
        </>
      )}
      .
    </p>
  );
}

/** Where a stored text is edited. */
function EditLink({ prompt, layer }: { prompt: Prompt; layer: Layer }) {
  if (layer.source !== "stored") return null;
  const to = layer.origin?.startsWith("template")
    ? href("template")
    : href("layers", [layer.id], { agent: prompt.occasion?.agent });
  return (
    <p>
      <a href={to}>See its versions</a>
    </p>
  );
}
