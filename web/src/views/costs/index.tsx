// What was spent and by whom, what the cache gave and why it was missed, and what a longer conversation would cost.
import { useAsking, useEvery } from "../../api/asking";
import { api, asked } from "../../api/client";
import { Budgets } from "../../parts/budgets";
import { Answered } from "../../parts/told";
import type { ViewProps } from "../../shell/App";
import { go, href } from "../../shell/router";
import { useSession } from "../../shell/session";
import { CacheSection } from "./CacheSection";
import { byOf } from "./CostTable";
import { Simulation } from "./Simulation";
import { Spending } from "./Spending";
import { SPANS, SPAN_NAMES, sinceOf, spanOf } from "./series";
import "./costs.css";

export function CostsView({ place }: ViewProps) {
  const span = spanOf(place.query.get("span"));
  const by = byOf(place.query.get("by"));
  const conversation = place.query.get("conversation");
  const { owner } = useSession();
  const change = (part: Record<string, string>) => go(href("costs", [], { span, by, conversation, ...part }));
  return (
    <>
      <div class="head">
        <h1>Costs and cache</h1>
        <div class="spans" role="group" aria-label="Of which time">
          {SPAN_NAMES.map((id) => <button key={id} aria-pressed={id === span} onClick={() => change({ span: id })}>{SPANS[id]}</button>)}
        </div>
        <p>{owner ? "What everybody spent" : "What you spent yourself"}, in US dollars as far as prices are known. Days begin where the server is.</p>
      </div>
      <div class="stack-of far">
        <Spending span={span} by={by} choose={(by) => change({ by })} />
        {owner && <BudgetSection />}
        <CacheSection since={sinceOf(span, new Date())} conversation={conversation} span={span} />
        <Simulation />
      </div>
    </>
  );
}

function BudgetSection() {
  const asking = useAsking("budgets", (signal) => asked(api.GET("/api/v1/status", { signal })));
  useEvery(30_000, () => !asking.busy && asking.again());
  return (
    <section aria-labelledby="budgets" class="stack-of">
      <h2 id="budgets">Budgets</h2>
      <Answered asking={asking} what="Budgets">{({ budgets }) => <Budgets budgets={budgets ?? []} />}</Answered>
    </section>
  );
}
