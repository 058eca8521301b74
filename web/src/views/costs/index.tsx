// The costs view: spending, cache use and misses, and a cost simulation.

import { api, unwrap } from "../../api/client";
import { useInterval, useQuery } from "../../api/query";
import { Budgets } from "../../parts/budgets";
import { QueryResult } from "../../parts/states";
import type { ViewProps } from "../../shell/App";
import { href, navigate } from "../../shell/router";
import { useSession } from "../../shell/session";
import { CacheSection } from "./CacheSection";
import { byOf } from "./CostTable";
import { Simulation } from "./Simulation";
import { Spending } from "./Spending";
import { SPAN_NAMES, SPANS, sinceOf, spanOf } from "./series";
import "./costs.css";

export function CostsView({ route }: ViewProps) {
  const span = spanOf(route.query.get("span"));
  const by = byOf(route.query.get("by"));
  const conversation = route.query.get("conversation");
  const { owner } = useSession();
  const change = (part: Record<string, string>) => navigate(href("costs", [], { span, by, conversation, ...part }));
  return (
    <>
      <div class="head">
        <h1>Costs and cache</h1>
        <div class="spans" role="group" aria-label="Period">
          {SPAN_NAMES.map((id) => (
            <button type="button" key={id} aria-pressed={id === span} onClick={() => change({ span: id })}>
              {SPANS[id]}
            </button>
          ))}
        </div>
        <p>
          {owner ? "Spending of all users" : "Your spending"}, in US dollars where prices are known. Days follow the
          server's time zone.
        </p>
      </div>
      <div class="vertical-stack far">
        <Spending span={span} by={by} choose={(by) => change({ by })} />
        {owner && <BudgetSection />}
        <CacheSection since={sinceOf(span, new Date())} conversation={conversation} span={span} />
        <Simulation />
      </div>
    </>
  );
}

function BudgetSection() {
  const query = useQuery("budgets", (signal) => unwrap(api.GET("/api/v1/status", { signal })));
  useInterval(30_000, () => !query.busy && query.reload());
  return (
    <section aria-labelledby="budgets" class="vertical-stack">
      <h2 id="budgets">Budgets</h2>
      <QueryResult query={query} what="Budgets">
        {({ budgets }) => <Budgets budgets={budgets ?? []} />}
      </QueryResult>
    </section>
  );
}
