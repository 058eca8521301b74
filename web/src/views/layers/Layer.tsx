// One layer: its text, what it was before, and the way to change it, for who may.
import { useEffect, useRef, useState } from "preact/hooks";
import { useAsking, useEvery } from "../../api/asking";
import type { LayerBody, LayerLine } from "../../api/schema";
import { When, count } from "../../parts/figures";
import { Stability, Trust } from "../../parts/marks";
import { Tabs } from "../../parts/tabs";
import { DiscardedNotice, useDiscarded } from "../../parts/discarded";
import { Answered } from "../../parts/told";
import { visible } from "../../parts/visible";
import { useDraft } from "../../parts/useDraft";
import { go, href } from "../../shell/router";
import { useSession } from "../../shell/session";
import { LOOK_EVERY, type LayersOf, layer } from "./asks";
import { Edit } from "./Edit";
import { History } from "./History";
import { Kind, kindMeans, originWords, writerWords } from "./words";

export interface LayerProps {
  of: LayersOf;
  line: LayerLine;
  query: URLSearchParams;
  /** Asks for the list again. */
  refresh: () => void;
}

export function Layer({ of, line, query, refresh }: LayerProps) {
  const asking = useAsking(`${of.agent} ${line.id}`, (signal) => layer(of.agent, line.id, signal));
  useEvery(LOOK_EVERY, asking.again);
  const both = () => {
    asking.again();
    refresh();
  };
  return (
    <section class="card layer" aria-label={`Layer ${line.id}`}>
      <a class="back" href={href("layers", [], { agent: of.agent })}>← All layers</a>
      <h2 class="wrap"><code>{line.id}</code> {line.title}</h2>
      <p class="row"><Kind of={line.kind} /><Stability of={line.stability} /><Trust of={line.trust} /></p>
      <Answered asking={asking} what={line.title}>{(body) => body.mutable ? <Changeable of={of} body={body} query={query} refresh={both} /> : <Fixed body={body} agent={of.agent} />}</Answered>
    </section>
  );
}

function Fixed({ body, agent }: { body: LayerBody; agent: string }) {
  return (
    <>
      <p class="quiet">{kindMeans(body.kind)}.</p>
      {body.content == null
        ? <p>Its text depends on who speaks, and where: see it under <a href={href("prompt", [], { agent })}>Prompt</a>.</p>
        : <pre class="words" tabIndex={0} role="region" aria-label="Text of the layer">{visible(body.content ?? "")}</pre>}
    </>
  );
}

function Changeable({ of, body, query, refresh }: { of: LayersOf; body: LayerBody; query: URLSearchParams; refresh: () => void }) {
  const { owner } = useSession();
  const stored = { version: body.version ?? 0, text: body.content ?? "" };
  const discarded = useDiscarded(useDraft(`layer ${of.agent} ${body.id}`, stored));
  const [opened, setOpened] = useState(false);
  const [labels, setLabels] = useState<string[]>([]);
  const show = query.get("show") === "history" ? "history" : "text";
  const choose = (show: string) => go(href("layers", [body.id], { agent: of.agent, show: show === "history" ? show : undefined }), "replace");
  const was = useRef(false);
  const button = useRef<HTMLButtonElement>(null);
  // Work that was found again after a reload opens the editor by itself.
  const editing = owner && (opened || discarded?.draft.dirty === true);
  useEffect(() => {
    // Whoever uses the keyboard goes on where they began; what was discarded has a way back of its own.
    if (was.current && !editing && !discarded?.undo) button.current?.focus();
    was.current = editing;
  }, [editing]);
  if (!discarded) return null;
  const { draft, undo } = discarded;
  const text = editing ? (
    <Edit of={of} body={body} draft={draft} focus={opened} refresh={refresh} close={() => setOpened(false)} stored={(written) => { setLabels(written.labels); refresh(); }} />
  ) : (
    <>
      <pre class="words" tabIndex={0} role="region" aria-label="Text of the layer">{visible(body.content ?? "")}</pre>
      {undo && <DiscardedNotice undo={undo} />}
      {owner ? <p><button ref={button} class="main" onClick={() => setOpened(true)}>Edit</button></p> : <p class="quiet">Only the owner, and the agent itself, can change it.</p>}
    </>
  );
  return (
    <>
      <Written body={body} />
      {labels.length > 0 && <p class="told waiting wrap" role="status">Stored. Worth a second look: {labels.map((label) => `“${label}”`).join(", ")}. Such words read like an attempt to talk past the other layers; the locked layers hold all the same.</p>}
      <Tabs label={`Layer ${body.id}`} current={show} choose={choose} tabs={[{ id: "text", title: editing ? "Edit" : "Text" }, { id: "history", title: "History" }]}>
        {show === "text" ? text : <History of={of} body={body} refresh={refresh} />}
      </Tabs>
    </>
  );
}

function Written({ body }: { body: LayerBody }) {
  const { current } = body;
  if (!current) return <p class="quiet">The program's own text; nobody has changed it.</p>;
  return (
    <div class="written">
      <p>Version {current.version} ({originWords(current)}), by <strong>{writerWords(current.writer)}</strong>, <When at={current.at} />. {count(body.chars)} characters.</p>
      {current.message && <p class="wrap">“{current.message}”</p>}
      {current.turn && <p><a href={href("trace", [current.turn])}>The turn it was written in</a></p>}
    </div>
  );
}
