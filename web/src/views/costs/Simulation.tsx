// What the current blueprint would cost in a longer conversation, against other ways to send the same words.
import { useId, useState } from "preact/hooks";
import { useAsking, useSettled } from "../../api/asking";
import type { SimulatedWay, Simulation as Bills } from "../../api/schema";
import { count, money, share } from "../../parts/figures";
import { useOccasions } from "../../parts/occasion";
import { Scrolled } from "../../parts/scrolled";
import { Busy, Told } from "../../parts/told";
import { useSession } from "../../shell/session";
import { Chart } from "./Chart";
import { type Wish, simulate, turnLabels, verdictOf, wayOf } from "./simulated";

export function Simulation() {
  const { owner } = useSession();
  return (
    <section aria-labelledby="simulate" class="stack-of">
      <h2 id="simulate">What a conversation would cost</h2>
      {owner ? <Asked /> : <p class="quiet">The owner can have the bill of a conversation worked out here before it is had.</p>}
    </section>
  );
}

function Asked() {
  const [wish, setWish] = useState<Wish>({ turns: 100, pause: "90s" });
  const wanted = useSettled(wish, 350);
  const possible = wanted.turns >= 1 && wanted.turns <= 100_000;
  const asking = useAsking(possible ? JSON.stringify(wanted) : null, (signal) => simulate(wanted, signal));
  return (
    <>
      <Form wish={wish} change={setWish} />
      {!possible && <p class="told waiting">Between 1 and 100,000 turns can be worked out.</p>}
      {possible && asking.busy && <Busy what={`Working out ${count(wanted.turns)} turns`} />}
      {asking.refusal && !asking.busy && <Told refusal={asking.refusal} again={asking.again} />}
      {asking.value && !asking.refusal && possible && <Bill of={asking.value} />}
    </>
  );
}

const PAUSES = [["10s", "10 seconds"], ["90s", "a minute and a half"], ["10m", "10 minutes"], ["2h", "2 hours"], ["10s..20m", "10 seconds to 20 minutes"]];

function Form({ wish, change }: { wish: Wish; change: (wish: Wish) => void }) {
  const id = useId();
  const { value: known } = useOccasions();
  return (
    <fieldset class="occasion">
      <legend>Which conversation</legend>
      <div class="choice"><label for={`${id}-agent`}>agent</label>
        <select id={`${id}-agent`} value={wish.agent ?? ""} onChange={(event) => change({ ...wish, agent: event.currentTarget.value || undefined })}>
          <option value="">the first agent</option>{known?.agents.map((agent) => <option key={agent.name} value={agent.name}>{agent.name} ({agent.blueprint})</option>)}
        </select></div>
      <div class="choice"><label for={`${id}-model`}>model</label>
        <select id={`${id}-model`} value={wish.model ?? ""} onChange={(event) => change({ ...wish, model: event.currentTarget.value || undefined })}>
          <option value="">its own model</option>{known?.models.map((model) => <option key={model.id} value={model.id}>{model.id}</option>)}
        </select></div>
      <div class="choice"><label for={`${id}-turns`}>turns</label>
        <input id={`${id}-turns`} type="number" min={1} max={100_000} value={wish.turns} onInput={(event) => change({ ...wish, turns: Math.floor(Number(event.currentTarget.value)) })} /></div>
      <div class="choice"><label for={`${id}-pause`}>time between turns</label>
        <select id={`${id}-pause`} value={wish.pause} onChange={(event) => change({ ...wish, pause: event.currentTarget.value })}>
          {PAUSES.map(([value, words]) => <option key={value} value={value}>{words}</option>)}
        </select></div>
    </fieldset>
  );
}

function Bill({ of }: { of: Bills }) {
  const { scenario } = of;
  return (
    <>
      <p class="quiet">
        {of.occasion && <>{of.occasion.agent} (blueprint {of.blueprint}) for {of.occasion.user}. </>}
        {scenario && <>{count(scenario.turns)} turns, {scenario.pause} apart; each {count(scenario.message_tokens)} tokens asked, {count(scenario.answer_tokens)} answered, {scenario.tool_rounds} tool {scenario.tool_rounds === 1 ? "result" : "results"} of {count(scenario.tool_result_tokens)} tokens.</>}
      </p>
      {of.models.map((model) => (
        <section key={model.model} class="stack-of" aria-label={`With ${model.model}`}>
          <h3>{model.model}</h3>
          {verdictOf(model.ways) && <p class="verdict"><strong>{verdictOf(model.ways)}</strong></p>}
          <Ways ways={model.ways} />
          <Curve ways={model.ways} turns={scenario?.turns ?? 0} model={model.model} />
        </section>
      ))}
      <details><summary>What is assumed</summary><ul class="assumed">{of.assumptions.map((one) => <li key={one}>{one}</li>)}</ul></details>
    </>
  );
}

function Ways({ ways }: { ways: SimulatedWay[] }) {
  const most = Math.max(0, ...ways.map((way) => way.cost ?? 0));
  return (
    <Scrolled label="Ways to send the same words" class="cost-table">
      <table>
        <caption class="visually-hidden">Ways to send the same words</caption>
        <thead><tr><th scope="col">Way</th><th scope="col" class="number">From cache</th><th scope="col" class="number">A turn</th><th scope="col" class="number">Ratio</th><th scope="col" class="number">Cost</th></tr></thead>
        <tbody>{ways.map((way) => (
          <tr key={way.way}>
            <th scope="row">{wayOf(way.way).name}<span class="means quiet">{wayOf(way.way).means}</span></th>
            <td class="number">{share(way.hit_rate)}</td><td class="number">{money(way.cost_per_turn)}</td><td class="number">{typeof way.ratio === "number" ? `${way.ratio.toFixed(2)} ×` : "–"}</td>
            <td class="number cost">{typeof way.cost === "number" ? money(way.cost) : "not known"}<span class="gauge" data-way={way.way} aria-hidden="true"><span style={{ width: `${most > 0 ? ((way.cost ?? 0) / most) * 100 : 0}%` }} /></span></td>
          </tr>
        ))}</tbody>
      </table>
    </Scrolled>
  );
}

function Curve({ ways, turns, model }: { ways: SimulatedWay[]; turns: number; model: string }) {
  const points = Math.max(0, ...ways.map((way) => way.cost_curve.length));
  const spread = (way: SimulatedWay) => {
    const known = way.cost_curve;
    return known.length === 0 ? "not known" : `${money(known[0])} first, ${money(known.at(-1))} last`;
  };
  return (
    <section class="card" aria-label="Cost of a turn, from the first to the last">
      <h4>Cost of a turn, from the first to the last</h4>
      <Chart kind="line" label={`Cost of a turn with ${model}: ${ways.map((way) => `${wayOf(way.way).name} ${spread(way)}`).join("; ")}.`} below="turn"
        labels={turnLabels(points, turns)} format={money} lines={ways.map((way) => ({ name: wayOf(way.way).name, values: way.cost_curve, colour: wayOf(way.way).colour, dash: wayOf(way.way).dash }))} />
      <ul class="legend">{ways.map((way) => <li key={way.way}><span data-way={way.way} aria-hidden="true" />{wayOf(way.way).name} <span class="quiet">{spread(way)}</span></li>)}</ul>
    </section>
  );
}
