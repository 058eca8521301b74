// Spending and the cache's share as pictures: by day, or call by call where there is only one day to look at.
import { useAsking } from "../../api/asking";
import { api, asked } from "../../api/client";
import type { Costs, Event } from "../../api/schema";
import { Name } from "../../parts/conversation/Name";
import { When, count, money, share } from "../../parts/figures";
import { Scrolled } from "../../parts/scrolled";
import { href } from "../../shell/router";
import { useSession } from "../../shell/session";
import { Chart } from "./Chart";
import { type Point, type SpanName, callsOf, daysOf, daysWithCalls } from "./series";

/** The latest calls that are drawn one by one. */
const AT_MOST = 500;

export function Charts({ costs, span, since }: { costs: Costs; span: SpanName; since: string }) {
  const { owner } = useSession();
  // Only the owner looks at all conversations at once; for the others a single day stays a single point.
  const oneDay = owner && daysWithCalls(costs) <= 1;
  const asking = useAsking(oneDay ? `${since} ${costs.total.calls}` : null, (signal) => asked(api.GET("/api/v1/events", { params: { query: { type: "api_call", since, limit: AT_MOST } }, signal })));
  const events = oneDay ? ((asking.value?.items ?? []) as Event[]) : [];
  const days = daysOf(costs);
  const calls = callsOf(events);
  const spending = span === "today" && calls.length > 0 ? calls : days;
  const caching = calls.length > 0 ? calls : days;
  return (
    <>
      <div class="columns">
        <Picture title={spending === calls ? "Spending, call by call" : "Spending per day"} points={spending} of="cost" />
        <Picture title={caching === calls ? "Read from the cache, call by call" : "Read from the cache, by day"} points={caching} of="share" />
      </div>
      {calls.length > 0 && <Calls events={events} />}
    </>
  );
}

function Picture({ title, points, of }: { title: string; points: Point[]; of: "cost" | "share" }) {
  const values = points.map((point) => point[of]);
  const known = values.filter((value) => value !== null);
  const format = of === "cost" ? money : (value: number) => share(value).replace(/\.0 %/, " %");
  const told = known.length === 0 ? "nothing is known" : `from ${format(Math.min(...known))} to ${format(Math.max(...known))}`;
  return (
    <section class="card" aria-label={title}>
      <h3>{title}</h3>
      <Chart label={`${title}: ${points.length} points, ${told}. The tables below have the numbers.`} kind={of === "cost" ? "bars" : "line"} labels={points.map((point) => point.label)}
        lines={[{ name: title, values, colour: of === "cost" ? "--accent" : "--static" }]} format={format} {...(of === "share" && { top: 1 })} {...(/call/.test(title) && { below: "call" })} />
    </section>
  );
}

function Calls({ events }: { events: Event[] }) {
  return (
    <details>
      <summary>The {events.length < AT_MOST ? "" : "latest "}{count(events.length)} answered calls as a table</summary>
      <Scrolled label="Answered calls" class="calls-table">
        <table>
          <thead><tr><th scope="col" class="number">Call</th><th scope="col">When</th><th scope="col">Conversation</th><th scope="col" class="number">Tokens in</th><th scope="col" class="number">From cache</th><th scope="col" class="number">Cost</th></tr></thead>
          <tbody>{callsOf(events).map((call, at) => {
            const event = events[events.length - 1 - at];
            return event && (
              <tr key={event.id ?? at}>
                <td class="number">{call.label}</td>
                <td>{event.turn_id ? <a href={href("trace", [event.turn_id])}><When at={event.timestamp} as="clock" /></a> : <When at={event.timestamp} as="clock" />}</td>
                <td class="wrap" title={event.session_id ?? undefined}>{event.session_id && <Name of={{ id: event.session_id }} />}</td><td class="number">{count(event.tokens_in)}</td><td class="number">{share(call.share)}</td><td class="number">{money(call.cost)}</td>
              </tr>
            );
          })}</tbody>
        </table>
      </Scrolled>
    </details>
  );
}
