// The key figures of the server's state.

import { StateBadge } from "../../parts/badges";
import { count, duration, money, share, Timestamp } from "../../parts/format";
import { href } from "../../shell/router";
import type { StatusReport } from "./server_status";

/** `away`: the server is unreachable, so the figures are outdated. */
export function Overview({ status, owner, away }: { status: StatusReport; owner: boolean; away: boolean }) {
  const { server, cost_today: today, conversations, events_lost: lost } = status;
  return (
    <div class="card">
      <dl class={`figures${away ? " of-before" : ""}`}>
        {server && (
          <div>
            <dt>server</dt>
            <dd>
              <StateBadge
                of={away ? "not_reached" : server.stopping ? "stopping" : "ok"}
                title={`on ${server.listen}`}
              />
            </dd>
          </div>
        )}
        {server && (
          <div>
            <dt>version</dt>
            <dd>{server.version}</dd>
          </div>
        )}
        {server && (
          <div title={server.started_at}>
            <dt>up for</dt>
            <dd>{duration(server.uptime_s * 1000)}</dd>
          </div>
        )}
        {status.store && (
          <div>
            <dt>store</dt>
            <dd>{status.store}</dd>
          </div>
        )}
        {conversations && (
          <div>
            <dt>conversations in 24 h</dt>
            <dd>
              <a href={href("conversations")}>
                {count(conversations.count)}
                {conversations.or_more && "+"}
              </a>
            </dd>
          </div>
        )}
        {today && (
          <div>
            <dt>spent today</dt>
            <dd>
              <a href={href("costs", [], { span: "today" })}>
                {today.unpriced > 0 && "≥ "}
                {money(today.usd)}
              </a>
            </dd>
          </div>
        )}
        {today && (
          <div>
            <dt>turns today</dt>
            <dd>{count(today.turns)}</dd>
          </div>
        )}
        {today && (
          <div>
            <dt>from the cache today</dt>
            <dd>
              {today.tokens_with_cache_usage > 0
                ? share(today.cache_read / today.tokens_with_cache_usage)
                : "not reported"}
            </dd>
          </div>
        )}
        {lost !== null && lost !== undefined && (
          <div title="events of the last 24 hours that could not be stored">
            <dt>events lost</dt>
            <dd>
              {count(lost)}
              {lost > 0 && (
                <>
                  {" "}
                  <StateBadge of="error" />
                </>
              )}
            </dd>
          </div>
        )}
        {Object.entries(status.memory).map(([store, kept]) => (
          <div key={store}>
            <dt>memory, {store}</dt>
            <dd>
              {count(kept)} <span class="unit">{kept === 1 ? "observation" : "observations"}</span>
            </dd>
          </div>
        ))}
        {owner && (
          <div>
            <dt>last kept in memory</dt>
            <dd>
              <Timestamp at={status.memory_kept_at} />
            </dd>
          </div>
        )}
      </dl>
    </div>
  );
}
