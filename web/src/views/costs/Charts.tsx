// Charts of spending and cache use: by day, or by call if there is only one day.

import { api, unwrap } from "../../api/client";
import { useQuery } from "../../api/query";
import type { Costs, Event } from "../../api/schema";
import { ConversationName } from "../../parts/conversation/ConversationName";
import { count, money, share, Timestamp } from "../../parts/format";
import { ScrollContainer } from "../../parts/scroll_container";
import { href } from "../../shell/router";
import { useSession } from "../../shell/session";
import { Chart } from "./Chart";
import { callsOf, daysOf, daysWithCalls, type Point, type SpanName } from "./series";

/** The number of calls drawn one by one. */
const MAX_CALLS = 500;

export function Charts({ costs, span, since }: { costs: Costs; span: SpanName; since: string }) {
  const { owner } = useSession();
  // Only the owner can list the calls of all conversations; for other users a single day stays a single point.
  const oneDay = owner && daysWithCalls(costs) <= 1;
  const query = useQuery(oneDay ? `${since} ${costs.total.calls}` : null, (signal) =>
    unwrap(api.GET("/api/v1/events", { params: { query: { type: "api_call", since, limit: MAX_CALLS } }, signal })),
  );
  const events = oneDay ? ((query.value?.items ?? []) as Event[]) : [];
  const days = daysOf(costs);
  const calls = callsOf(events);
  const spending = span === "today" && calls.length > 0 ? calls : days;
  const caching = calls.length > 0 ? calls : days;
  return (
    <>
      <div class="columns">
        <SeriesChart
          title={spending === calls ? "Spending, call by call" : "Spending per day"}
          points={spending}
          of="cost"
        />
        <SeriesChart
          title={caching === calls ? "Read from the cache, call by call" : "Read from the cache, by day"}
          points={caching}
          of="share"
        />
      </div>
      {calls.length > 0 && <CallTable events={events} />}
    </>
  );
}

function SeriesChart({ title, points, of }: { title: string; points: Point[]; of: "cost" | "share" }) {
  const values = points.map((point) => point[of]);
  const known = values.filter((value) => value !== null);
  const format = of === "cost" ? money : (value: number) => share(value).replace(/\.0 %/, " %");
  const told = known.length === 0 ? "no data" : `from ${format(Math.min(...known))} to ${format(Math.max(...known))}`;
  return (
    <section class="card" aria-label={title}>
      <h3>{title}</h3>
      <Chart
        label={`${title}: ${points.length} points, ${told}. The tables below have the numbers.`}
        kind={of === "cost" ? "bars" : "line"}
        labels={points.map((point) => point.label)}
        lines={[{ name: title, values, colour: of === "cost" ? "--accent" : "--static" }]}
        format={format}
        {...(of === "share" && { top: 1 })}
        {...(/call/.test(title) && { below: "call" })}
      />
    </section>
  );
}

function CallTable({ events }: { events: Event[] }) {
  return (
    <details>
      <summary>
        The {events.length < MAX_CALLS ? "" : "latest "}
        {count(events.length)} answered calls as a table
      </summary>
      <ScrollContainer label="Answered calls" class="calls-table">
        <table>
          <thead>
            <tr>
              <th scope="col" class="number">
                Call
              </th>
              <th scope="col">When</th>
              <th scope="col">Conversation</th>
              <th scope="col" class="number">
                Tokens in
              </th>
              <th scope="col" class="number">
                From cache
              </th>
              <th scope="col" class="number">
                Cost
              </th>
            </tr>
          </thead>
          <tbody>
            {callsOf(events).map((call, at) => {
              const event = events[events.length - 1 - at];
              return (
                event && (
                  <tr key={event.id ?? at}>
                    <td class="number">{call.label}</td>
                    <td>
                      {event.turn_id ? (
                        <a href={href("trace", [event.turn_id])}>
                          <Timestamp at={event.timestamp} as="clock" />
                        </a>
                      ) : (
                        <Timestamp at={event.timestamp} as="clock" />
                      )}
                    </td>
                    <td class="wrap" title={event.session_id ?? undefined}>
                      {event.session_id && <ConversationName of={{ id: event.session_id }} />}
                    </td>
                    <td class="number">{count(event.tokens_in)}</td>
                    <td class="number">{share(call.share)}</td>
                    <td class="number">{money(call.cost)}</td>
                  </tr>
                )
              );
            })}
          </tbody>
        </table>
      </ScrollContainer>
    </details>
  );
}
