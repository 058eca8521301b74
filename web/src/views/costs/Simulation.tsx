// Simulates the cost of a longer conversation with the current blueprint, compared with other ways to send the same
// prompt.
import { useId, useState } from "preact/hooks";
import { useDebounced, useQuery } from "../../api/query";
import type { Simulation as Bills, SimulatedStrategy } from "../../api/schema";
import { count, money, share } from "../../parts/format";
import { useOccasions } from "../../parts/occasion";
import { ScrollContainer } from "../../parts/scroll_container";
import { ErrorNotice, Loading } from "../../parts/states";
import { useSession } from "../../shell/session";
import { Chart } from "./Chart";
import { methodName, type SimulationRequest, simulate, turnLabels, verdictOf } from "./simulation";

export function Simulation() {
  const { owner } = useSession();
  return (
    <section aria-labelledby="simulate" class="vertical-stack">
      <h2 id="simulate">Cost simulation</h2>
      {owner ? <SimulationPanel /> : <p class="quiet">Only the owner can simulate the cost of a conversation.</p>}
    </section>
  );
}

function SimulationPanel() {
  const [request, setRequest] = useState<SimulationRequest>({ turns: 100, pause: "90s" });
  const debounced = useDebounced(request, 350);
  const possible = debounced.turns >= 1 && debounced.turns <= 100_000;
  const query = useQuery(possible ? JSON.stringify(debounced) : null, (signal) => simulate(debounced, signal));
  return (
    <>
      <Form request={request} change={setRequest} />
      {!possible && <p class="callout waiting">Enter 1 to 100,000 turns.</p>}
      {possible && query.busy && <Loading what={`Simulating ${count(debounced.turns)} turns`} />}
      {query.error && !query.busy && <ErrorNotice error={query.error} reload={query.reload} />}
      {query.value && !query.error && possible && <SimulatedCosts of={query.value} />}
    </>
  );
}

const PAUSES = [
  ["10s", "10 seconds"],
  ["90s", "90 seconds"],
  ["10m", "10 minutes"],
  ["2h", "2 hours"],
  ["10s..20m", "10 seconds to 20 minutes"],
];

function Form({ request, change }: { request: SimulationRequest; change: (request: SimulationRequest) => void }) {
  const id = useId();
  const { value: known } = useOccasions();
  return (
    <fieldset class="occasion">
      <legend>Scenario</legend>
      <div class="choice">
        <label for={`${id}-agent`}>agent</label>
        <select
          id={`${id}-agent`}
          value={request.agent ?? ""}
          onChange={(event) => change({ ...request, agent: event.currentTarget.value || undefined })}
        >
          <option value="">default agent</option>
          {known?.agents.map((agent) => (
            <option key={agent.name} value={agent.name}>
              {agent.name} ({agent.blueprint})
            </option>
          ))}
        </select>
      </div>
      <div class="choice">
        <label for={`${id}-model`}>model</label>
        <select
          id={`${id}-model`}
          value={request.model ?? ""}
          onChange={(event) => change({ ...request, model: event.currentTarget.value || undefined })}
        >
          <option value="">the agent's model</option>
          {known?.models.map((model) => (
            <option key={model.id} value={model.id}>
              {model.id}
            </option>
          ))}
        </select>
      </div>
      <div class="choice">
        <label for={`${id}-turns`}>turns</label>
        <input
          id={`${id}-turns`}
          type="number"
          min={1}
          max={100_000}
          value={request.turns}
          onInput={(event) => change({ ...request, turns: Math.floor(Number(event.currentTarget.value)) })}
        />
      </div>
      <div class="choice">
        <label for={`${id}-pause`}>time between turns</label>
        <select
          id={`${id}-pause`}
          value={request.pause}
          onChange={(event) => change({ ...request, pause: event.currentTarget.value })}
        >
          {PAUSES.map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
      </div>
    </fieldset>
  );
}

function SimulatedCosts({ of }: { of: Bills }) {
  const { scenario } = of;
  return (
    <>
      <p class="quiet">
        {of.occasion && (
          <>
            {of.occasion.agent} (blueprint {of.blueprint}) for {of.occasion.user}.{" "}
          </>
        )}
        {scenario && (
          <>
            {count(scenario.turns)} turns, {scenario.pause} apart; each {count(scenario.message_tokens)} tokens asked,{" "}
            {count(scenario.answer_tokens)} answered, {scenario.tool_rounds} tool{" "}
            {scenario.tool_rounds === 1 ? "result" : "results"} of {count(scenario.tool_result_tokens)} tokens.
          </>
        )}
      </p>
      {of.models.map((model) => (
        <section key={model.model} class="vertical-stack" aria-label={`With ${model.model}`}>
          <h3>{model.model}</h3>
          {verdictOf(model.strategies) && (
            <p class="verdict">
              <strong>{verdictOf(model.strategies)}</strong>
            </p>
          )}
          <MethodTable strategies={model.strategies} />
          <Curve strategies={model.strategies} turns={scenario?.turns ?? 0} model={model.model} />
        </section>
      ))}
      <details>
        <summary>Assumptions</summary>
        <ul class="assumed">
          {of.assumptions.map((one) => (
            <li key={one}>{one}</li>
          ))}
        </ul>
      </details>
    </>
  );
}

function MethodTable({ strategies }: { strategies: SimulatedStrategy[] }) {
  const most = Math.max(0, ...strategies.map((strategy) => strategy.cost ?? 0));
  return (
    <ScrollContainer label="Methods to send the same prompt" class="cost-table">
      <table>
        <caption class="visually-hidden">Methods to send the same prompt</caption>
        <thead>
          <tr>
            <th scope="col">Way</th>
            <th scope="col" class="number">
              From cache
            </th>
            <th scope="col" class="number">
              Cost per turn
            </th>
            <th scope="col" class="number">
              Ratio
            </th>
            <th scope="col" class="number">
              Cost
            </th>
          </tr>
        </thead>
        <tbody>
          {strategies.map((strategy) => (
            <tr key={strategy.strategy}>
              <th scope="row">
                {methodName(strategy.strategy).name}
                <span class="means quiet">{methodName(strategy.strategy).means}</span>
              </th>
              <td class="number">{share(strategy.hit_rate)}</td>
              <td class="number">{money(strategy.cost_per_turn)}</td>
              <td class="number">{typeof strategy.ratio === "number" ? `${strategy.ratio.toFixed(2)} ×` : "–"}</td>
              <td class="number cost">
                {typeof strategy.cost === "number" ? money(strategy.cost) : "unknown"}
                <span class="gauge" data-strategy={strategy.strategy} aria-hidden="true">
                  <span style={{ width: `${most > 0 ? ((strategy.cost ?? 0) / most) * 100 : 0}%` }} />
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollContainer>
  );
}

function Curve({ strategies, turns, model }: { strategies: SimulatedStrategy[]; turns: number; model: string }) {
  const points = Math.max(0, ...strategies.map((strategy) => strategy.cost_curve.length));
  const spread = (strategy: SimulatedStrategy) => {
    const known = strategy.cost_curve;
    return known.length === 0 ? "unknown" : `${money(known[0])} first, ${money(known.at(-1))} last`;
  };
  return (
    <section class="card" aria-label="Cost per turn">
      <h4>Cost per turn</h4>
      <Chart
        kind="line"
        label={`Cost of a turn with ${model}: ${strategies.map((strategy) => `${methodName(strategy.strategy).name} ${spread(strategy)}`).join("; ")}.`}
        xLabel="turn"
        labels={turnLabels(points, turns)}
        format={money}
        lines={strategies.map((strategy) => ({
          name: methodName(strategy.strategy).name,
          values: strategy.cost_curve,
          colour: methodName(strategy.strategy).colour,
          dash: methodName(strategy.strategy).dash,
        }))}
      />
      <ul class="legend">
        {strategies.map((strategy) => (
          <li key={strategy.strategy}>
            <span data-strategy={strategy.strategy} aria-hidden="true" />
            {methodName(strategy.strategy).name} <span class="quiet">{spread(strategy)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
