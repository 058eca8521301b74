// The layers view: the layers of an agent's prompt, which of them can be edited, and their authors.
import "./layers.css";
import { useInterval, useQuery } from "../../api/query";
import { count } from "../../parts/format";
import { useOccasions } from "../../parts/occasion";
import { EmptyState, QueryResult } from "../../parts/states";
import type { ViewProps } from "../../shell/App";
import { href, navigate, type Route } from "../../shell/router";
import { Layer } from "./Layer";
import { LayerList } from "./LayerList";
import { type LayersOf, layersOf, POLL_INTERVAL_MS } from "./requests";

export function LayersView({ route }: ViewProps) {
  const occasions = useOccasions();
  return (
    <>
      <div class="head">
        <h1>Layers</h1>
        <p>
          The layers of an agent's system prompt. Locked layers contain the rules; the others can be edited, with
          version history.
        </p>
      </div>
      <QueryResult query={occasions} what="Agents">
        {(occasions) => <AllAgentsLayers names={occasions.agents.map((agent) => agent.name)} route={route} />}
      </QueryResult>
    </>
  );
}

function AllAgentsLayers({ names, route }: { names: string[]; route: Route }) {
  const query = useQuery(names.join(" "), (signal) => Promise.all(names.map((name) => layersOf(name, signal))));
  useInterval(POLL_INTERVAL_MS, query.reload);
  return (
    <QueryResult query={query} what="Layers">
      {(all) => {
        const wanted = route.query.get("agent");
        const chosen = all.find((one) => one.agent === wanted) ?? all.find(hasStored) ?? all[0];
        if (!chosen)
          return (
            <EmptyState title="No agents">
              <p>
                Configure one in <code>foreword.yaml</code>.
              </p>
            </EmptyState>
          );
        return <AgentLayers key={chosen.agent} all={all} chosen={chosen} route={route} refresh={query.reload} />;
      }}
    </QueryResult>
  );
}

function hasStored(one: LayersOf): boolean {
  return one.layers.some((layer) => layer.mutable);
}

interface AgentLayersProps {
  all: LayersOf[];
  chosen: LayersOf;
  route: Route;
  refresh: () => void;
}

function AgentLayers({ all, chosen, route, refresh }: AgentLayersProps) {
  const requestedId = route.rest[0];
  const line = chosen.layers.find((one) => one.id === requestedId);
  const shown = line ?? chosen.layers.find((one) => one.mutable);
  return (
    <div class="vertical-stack">
      <div class="row over">
        <label class="field">
          Agent
          <select
            value={chosen.agent}
            onChange={(event) => navigate(href("layers", [], { agent: event.currentTarget.value }))}
          >
            {all.map((one) => (
              <option
                key={one.agent}
                value={one.agent}
              >{`${one.agent} (${one.blueprint.replace(` (${one.agent})`, "")})`}</option>
            ))}
          </select>
        </label>
        {hasStored(chosen) && <Total of={chosen} />}
      </div>
      {!hasStored(chosen) || !shown ? (
        <NoStoredLayers chosen={chosen} others={all.filter(hasStored)} />
      ) : (
        <div class={`both${line ? " chosen" : ""}`}>
          <LayerList of={chosen} current={shown.id} />
          <Layer key={shown.id} of={chosen} line={shown} query={route.query} refresh={refresh} />
        </div>
      )}
    </div>
  );
}

/** The size limit of all layers together and, for the owner, what remains of it. */
function Total({ of }: { of: LayersOf }) {
  if (of.max_chars == null) return null;
  if (of.remaining == null) return <p class="quiet">Size limit of all layers: {count(of.max_chars)} characters.</p>;
  const used = of.max_chars - of.remaining;
  return (
    <div class="total">
      <meter min={0} max={of.max_chars} value={used} aria-label="Characters used by all layers" />
      <span>
        {count(used)} of {count(of.max_chars)} characters used, <strong>{count(of.remaining)} left</strong>
      </span>
    </div>
  );
}

function NoStoredLayers({ chosen, others }: { chosen: LayersOf; others: LayersOf[] }) {
  return (
    <EmptyState title={`None of ${chosen.agent}'s layers is stored here`}>
      <p>
        Its {count(chosen.layers.length)} layers come from files and from the program; see them under{" "}
        <a href={href("prompt", [], { agent: chosen.agent })}>Prompt</a>.
      </p>
      <p>
        For editable, versioned layers, give the agent <code>blueprint: sovereign</code>, or a layer of your own
        blueprint <code>source: {"{ stored: NAME }"}</code> and <code>mutable: {"{ max_chars: 4000 }"}</code>.
      </p>
      {others.length > 0 && (
        <p>
          Stored layers have:{" "}
          {others.map((one, at) => (
            <span key={one.agent}>
              {at > 0 && ", "}
              <a href={href("layers", [], { agent: one.agent })}>{one.agent}</a>
            </span>
          ))}
        </p>
      )}
    </EmptyState>
  );
}
