// One layer: its text, its versions, and its editor for users who may change it.
import { useEffect, useRef, useState } from "preact/hooks";
import { useInterval, useQuery } from "../../api/query";
import type { LayerBody, LayerLine } from "../../api/schema";
import { StabilityBadge, TrustBadge } from "../../parts/badges";
import { showBidiControls } from "../../parts/bidi";
import { count, Timestamp } from "../../parts/format";
import { QueryResult } from "../../parts/states";
import { Tabs } from "../../parts/tabs";
import { DiscardedNotice, useUndoDiscard } from "../../parts/undo_discard";
import { useDraft } from "../../parts/useDraft";
import { href, navigate } from "../../shell/router";
import { useSession } from "../../shell/session";
import { LayerEditor } from "./LayerEditor";
import { LayerHistory } from "./LayerHistory";
import { authorText, KindBadge, kindDescription, originText } from "./labels";
import { type LayersOf, layer, POLL_INTERVAL_MS } from "./requests";

export interface LayerProps {
  of: LayersOf;
  line: LayerLine;
  query: URLSearchParams;
  /** Reloads the list. */
  refresh: () => void;
}

export function Layer({ of, line, query, refresh }: LayerProps) {
  const result = useQuery(`${of.agent} ${line.id}`, (signal) => layer(of.agent, line.id, signal));
  useInterval(POLL_INTERVAL_MS, result.reload);
  const both = () => {
    result.reload();
    refresh();
  };
  return (
    <section class="card layer" aria-label={`Layer ${line.id}`}>
      <a class="back" href={href("layers", [], { agent: of.agent })}>
        ← All layers
      </a>
      <h2 class="wrap">
        <code>{line.id}</code> {line.title}
      </h2>
      <p class="row">
        <KindBadge of={line.kind} />
        <StabilityBadge of={line.stability} />
        <TrustBadge of={line.trust} />
      </p>
      <QueryResult query={result} what={line.title}>
        {(body) =>
          body.mutable ? (
            <EditableLayer of={of} body={body} query={query} refresh={both} />
          ) : (
            <LockedLayer body={body} agent={of.agent} />
          )
        }
      </QueryResult>
    </section>
  );
}

function LockedLayer({ body, agent }: { body: LayerBody; agent: string }) {
  return (
    <>
      <p class="quiet">{kindDescription(body.kind)}.</p>
      {body.content == null ? (
        <p>
          Its text depends on the occasion: see it under <a href={href("prompt", [], { agent })}>Prompt</a>.
        </p>
      ) : (
        <pre class="words" tabIndex={0} role="region" aria-label="Text of the layer">
          {showBidiControls(body.content ?? "")}
        </pre>
      )}
    </>
  );
}

function EditableLayer({
  of,
  body,
  query,
  refresh,
}: {
  of: LayersOf;
  body: LayerBody;
  query: URLSearchParams;
  refresh: () => void;
}) {
  const { owner } = useSession();
  const stored = { version: body.version ?? 0, text: body.content ?? "" };
  const discarded = useUndoDiscard(useDraft(`layer ${of.agent} ${body.id}`, stored));
  const [opened, setOpened] = useState(false);
  const [labels, setLabels] = useState<string[]>([]);
  const show = query.get("show") === "history" ? "history" : "text";
  const choose = (show: string) =>
    navigate(href("layers", [body.id], { agent: of.agent, show: show === "history" ? show : undefined }), "replace");
  const was = useRef(false);
  const button = useRef<HTMLButtonElement>(null);
  // A restored draft opens the editor.
  const editing = owner && (opened || discarded?.draft.dirty === true);
  useEffect(() => {
    // Returns the focus to the edit button; after a discard, the undo button takes it.
    if (was.current && !editing && !discarded?.undo) button.current?.focus();
    was.current = editing;
  }, [editing]);
  if (!discarded) return null;
  const { draft, undo } = discarded;
  const text = editing ? (
    <LayerEditor
      of={of}
      body={body}
      draft={draft}
      focus={opened}
      refresh={refresh}
      close={() => setOpened(false)}
      stored={(written) => {
        setLabels(written.labels);
        refresh();
      }}
    />
  ) : (
    <>
      <pre class="words" tabIndex={0} role="region" aria-label="Text of the layer">
        {showBidiControls(body.content ?? "")}
      </pre>
      {undo && <DiscardedNotice undo={undo} />}
      {owner ? (
        <p>
          <button type="button" ref={button} class="main" onClick={() => setOpened(true)}>
            Edit
          </button>
        </p>
      ) : (
        <p class="quiet">Only the owner, and the agent itself, can change it.</p>
      )}
    </>
  );
  return (
    <>
      <AuthorLine body={body} />
      {labels.length > 0 && (
        <p class="callout waiting wrap" role="status">
          Saved with a warning: {labels.map((label) => `“${label}”`).join(", ")}. This resembles an attempt to override
          other layers; the locked layers still apply.
        </p>
      )}
      <Tabs
        label={`Layer ${body.id}`}
        current={show}
        choose={choose}
        tabs={[
          { id: "text", title: editing ? "Edit" : "Text" },
          { id: "history", title: "History" },
        ]}
      >
        {show === "text" ? text : <LayerHistory of={of} body={body} refresh={refresh} />}
      </Tabs>
    </>
  );
}

function AuthorLine({ body }: { body: LayerBody }) {
  const { current } = body;
  if (!current) return <p class="quiet">The built-in text, never edited.</p>;
  return (
    <div class="written">
      <p>
        Version {current.version} ({originText(current)}), by <strong>{authorText(current.writer)}</strong>,{" "}
        <Timestamp at={current.at} />. {count(body.chars)} characters.
      </p>
      {current.message && <p class="wrap">“{current.message}”</p>}
      {current.turn && (
        <p>
          <a href={href("trace", [current.turn])}>The turn that wrote it</a>
        </p>
      )}
    </div>
  );
}
