// What was spent: in all, day by day, and by whom or what.
import { useAsking } from "../../api/asking";
import { api, asked } from "../../api/client";
import type { Costs } from "../../api/schema";
import { count, money, share } from "../../parts/figures";
import { Tabs } from "../../parts/tabs";
import { Answered, Empty } from "../../parts/told";
import { href } from "../../shell/router";
import { useSession } from "../../shell/session";
import { Charts } from "./Charts";
import { Amount, type By, CostTable, WAYS } from "./CostTable";
import { SPANS, type SpanName, sinceOf } from "./series";

export function Spending({ span, by, choose }: { span: SpanName; by: By; choose: (by: By) => void }) {
  const since = sinceOf(span, new Date());
  const ask = (by: By) => (signal: AbortSignal) => asked(api.GET("/api/v1/costs", { params: { query: { by, since } }, signal }));
  const days = useAsking(`day ${since}`, ask("day"));
  const rows = useAsking(`${by} ${since}`, ask(by));
  const { owner } = useSession();
  return (
    <section aria-labelledby="spending" class="stack-of">
      <h2 id="spending">Spending</h2>
      <Answered asking={days} what="Spending">{(costs) => costs.total.calls === 0 ? <NoCalls span={span} /> : (
        <>
          <Totals costs={costs} span={span} owner={owner} />
          <Charts costs={costs} span={span} since={since} />
          <Tabs label="Spending by" current={by} choose={(id) => choose(id as By)} tabs={Object.entries(WAYS).map(([id, title]) => ({ id, title: `by ${title}` }))}>
            <Answered asking={rows} what="Sums">{(costs) => <CostTable by={costs.by as By} rows={costs.rows} total={costs.total} />}</Answered>
          </Tabs>
        </>
      )}</Answered>
    </section>
  );
}

function NoCalls({ span }: { span: SpanName }) {
  return (
    <Empty title={`No model was called ${span === "today" ? "today" : `in the last ${SPANS[span]}`}.`}>
      <p>Say something in the <a href={href("chat")}>chat</a>, and what it costs is summed up here.</p>
    </Empty>
  );
}

function Totals({ costs, span, owner }: { costs: Costs; span: SpanName; owner: boolean }) {
  const { total, today } = costs;
  return (
    <div class="card">
      <dl class="figures">
        <div><dt>{owner ? "spent" : "you spent"}, {span === "today" ? "today" : `in ${SPANS[span]}`}</dt><dd><Amount of={total} /></dd></div>
        {span !== "today" && <div><dt>of that today</dt><dd><Amount of={today} /></dd></div>}
        <div><dt>a turn on average</dt><dd>{money(total.cost_usd_per_turn)}</dd></div>
        <div><dt>turns</dt><dd>{count(total.turns)}</dd></div>
        <div><dt>calls</dt><dd>{count(total.calls)}</dd></div>
        <div><dt>tokens in</dt><dd>{count(total.tokens_in)}</dd></div>
        <div><dt>tokens out</dt><dd>{count(total.tokens_out)}</dd></div>
        <div><dt>read from the cache</dt><dd>{total.cache_share === null || total.cache_share === undefined ? "not reported" : share(total.cache_share)}</dd></div>
      </dl>
      {total.unpriced_calls > 0 && <p class="quiet">{count(total.unpriced_calls)} {total.unpriced_calls === 1 ? "call has" : "calls have"} no known price and {total.unpriced_calls === 1 ? "is" : "are"} in no sum. Section <code>prices</code> of foreword.yaml sets one.</p>}
    </div>
  );
}
