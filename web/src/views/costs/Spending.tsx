// Spending: total, by day, and by user, agent or model.

import { api, unwrap } from "../../api/client";
import { useQuery } from "../../api/query";
import type { Costs } from "../../api/schema";
import { count, money, share } from "../../parts/format";
import { EmptyState, QueryResult } from "../../parts/states";
import { Tabs } from "../../parts/tabs";
import { href } from "../../shell/router";
import { useSession } from "../../shell/session";
import { Charts } from "./Charts";
import { Amount, type By, CostTable, GROUPINGS } from "./CostTable";
import { SPANS, type SpanName, sinceOf } from "./series";

export function Spending({ span, by, choose }: { span: SpanName; by: By; choose: (by: By) => void }) {
  const since = sinceOf(span, new Date());
  const ask = (by: By) => (signal: AbortSignal) =>
    unwrap(api.GET("/api/v1/costs", { params: { query: { by, since } }, signal }));
  const days = useQuery(`day ${since}`, ask("day"));
  const rows = useQuery(`${by} ${since}`, ask(by));
  const { owner } = useSession();
  return (
    <section aria-labelledby="spending" class="vertical-stack">
      <h2 id="spending">Spending</h2>
      <QueryResult query={days} what="Spending">
        {(costs) =>
          costs.total.calls === 0 ? (
            <NoCalls span={span} />
          ) : (
            <>
              <Totals costs={costs} span={span} owner={owner} />
              <Charts costs={costs} span={span} since={since} />
              <Tabs
                label="Spending by"
                current={by}
                choose={(id) => choose(id as By)}
                tabs={Object.entries(GROUPINGS).map(([id, title]) => ({ id, title: `by ${title}` }))}
              >
                <QueryResult query={rows} what="Sums">
                  {(costs) => <CostTable by={costs.by as By} rows={costs.rows} total={costs.total} />}
                </QueryResult>
              </Tabs>
            </>
          )
        }
      </QueryResult>
    </section>
  );
}

function NoCalls({ span }: { span: SpanName }) {
  return (
    <EmptyState title={`No model calls ${span === "today" ? "today" : `in the last ${SPANS[span]}`}.`}>
      <p>
        Send a message in the <a href={href("chat")}>chat</a> to see its cost here.
      </p>
    </EmptyState>
  );
}

function Totals({ costs, span, owner }: { costs: Costs; span: SpanName; owner: boolean }) {
  const { total, today } = costs;
  return (
    <div class="card">
      <dl class="figures">
        <div>
          <dt>
            {owner ? "spent" : "you spent"}, {span === "today" ? "today" : `in ${SPANS[span]}`}
          </dt>
          <dd>
            <Amount of={total} />
          </dd>
        </div>
        {span !== "today" && (
          <div>
            <dt>of that today</dt>
            <dd>
              <Amount of={today} />
            </dd>
          </div>
        )}
        <div>
          <dt>a turn on average</dt>
          <dd>{money(total.cost_usd_per_turn)}</dd>
        </div>
        <div>
          <dt>turns</dt>
          <dd>{count(total.turns)}</dd>
        </div>
        <div>
          <dt>calls</dt>
          <dd>{count(total.calls)}</dd>
        </div>
        <div>
          <dt>tokens in</dt>
          <dd>{count(total.tokens_in)}</dd>
        </div>
        <div>
          <dt>tokens out</dt>
          <dd>{count(total.tokens_out)}</dd>
        </div>
        <div>
          <dt>read from the cache</dt>
          <dd>
            {total.cache_share === null || total.cache_share === undefined ? "not reported" : share(total.cache_share)}
          </dd>
        </div>
      </dl>
      {total.unpriced_calls > 0 && (
        <p class="quiet">
          {count(total.unpriced_calls)} {total.unpriced_calls === 1 ? "call has" : "calls have"} no known price and{" "}
          {total.unpriced_calls === 1 ? "is" : "are"} not included. Section <code>prices</code> of foreword.yaml sets
          one.
        </p>
      )}
    </div>
  );
}
