// The layers an agent's prompt is made of: which are locked, which can be changed, by whom they were, and how to.
import "./layers.css";
import { useAsking, useEvery } from "../../api/asking";
import { count } from "../../parts/figures";
import { useOccasions } from "../../parts/occasion";
import { Answered, Empty } from "../../parts/told";
import type { ViewProps } from "../../shell/App";
import { type Place, go, href } from "../../shell/router";
import { LOOK_EVERY, type LayersOf, layersOf } from "./asks";
import { Layer } from "./Layer";
import { List } from "./List";

export function LayersView({ place }: ViewProps) {
  const occasions = useOccasions();
  return (
    <>
      <div class="head">
        <h1>Layers</h1>
        <p>What an agent reads first, piece by piece. Locked layers hold the rules; the others can be rewritten, and every version is kept.</p>
      </div>
      <Answered asking={occasions} what="Agents">{(occasions) => <OfAgents names={occasions.agents.map((agent) => agent.name)} place={place} />}</Answered>
    </>
  );
}

function OfAgents({ names, place }: { names: string[]; place: Place }) {
  const asking = useAsking(names.join(" "), (signal) => Promise.all(names.map((name) => layersOf(name, signal))));
  useEvery(LOOK_EVERY, asking.again);
  return (
    <Answered asking={asking} what="Layers">{(all) => {
      const wanted = place.query.get("agent");
      const chosen = all.find((one) => one.agent === wanted) ?? all.find(hasStored) ?? all[0];
      if (!chosen) return <Empty title="There is no agent"><p>Name one in <code>foreword.yaml</code>.</p></Empty>;
      return <OfAgent key={chosen.agent} all={all} chosen={chosen} place={place} refresh={asking.again} />;
    }}</Answered>
  );
}

function hasStored(one: LayersOf): boolean {
  return one.layers.some((layer) => layer.mutable);
}

interface OfAgentProps {
  all: LayersOf[];
  chosen: LayersOf;
  place: Place;
  refresh: () => void;
}

function OfAgent({ all, chosen, place, refresh }: OfAgentProps) {
  const asked = place.rest[0];
  const line = chosen.layers.find((one) => one.id === asked);
  const shown = line ?? chosen.layers.find((one) => one.mutable);
  return (
    <div class="stack-of">
      <div class="row over">
        <label class="field">Agent
          <select value={chosen.agent} onChange={(event) => go(href("layers", [], { agent: event.currentTarget.value }))}>
            {all.map((one) => <option key={one.agent} value={one.agent}>{`${one.agent} (${one.blueprint.replace(` (${one.agent})`, "")})`}</option>)}
          </select>
        </label>
        {hasStored(chosen) && <Total of={chosen} />}
      </div>
      {!hasStored(chosen) || !shown ? <NoneStored chosen={chosen} others={all.filter(hasStored)} /> : (
        <div class={`both${line ? " chosen" : ""}`}>
          <List of={chosen} current={shown.id} />
          <Layer key={shown.id} of={chosen} line={shown} query={place.query} refresh={refresh} />
        </div>
      )}
    </div>
  );
}

/** What all layers together may have, and what is left; how much is left is told to the owner. */
function Total({ of }: { of: LayersOf }) {
  if (of.max_chars == null) return null;
  if (of.remaining == null) return <p class="quiet">All layers together may have {count(of.max_chars)} characters.</p>;
  const used = of.max_chars - of.remaining;
  return (
    <div class="total">
      <meter min={0} max={of.max_chars} value={used} aria-label="Characters used by all layers" />
      <span>{count(used)} of {count(of.max_chars)} characters used, <strong>{count(of.remaining)} left</strong></span>
    </div>
  );
}

function NoneStored({ chosen, others }: { chosen: LayersOf; others: LayersOf[] }) {
  return (
    <Empty title={`None of ${chosen.agent}'s layers is stored here`}>
      <p>Its {count(chosen.layers.length)} layers come from files and from the program; read them under <a href={href("prompt", [], { agent: chosen.agent })}>Prompt</a>.</p>
      <p>For layers that can be rewritten and taken back, give the agent <code>blueprint: sovereign</code>, or a layer of your own blueprint <code>source: {"{ stored: NAME }"}</code> and <code>mutable: {"{ max_chars: 4000 }"}</code>.</p>
      {others.length > 0 && <p>Stored layers have: {others.map((one, at) => <span key={one.agent}>{at > 0 && ", "}<a href={href("layers", [], { agent: one.agent })}>{one.agent}</a></span>)}</p>}
    </Empty>
  );
}
