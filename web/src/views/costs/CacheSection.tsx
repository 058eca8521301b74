// Cache hit rates, causes of cache misses, and cache use by conversation.

import { api, unwrap } from "../../api/client";
import { useQuery } from "../../api/query";
import type { Cache } from "../../api/schema";
import { ConversationName, QuotedName } from "../../parts/conversation/ConversationName";
import { OwnConversations } from "../../parts/conversation/OwnConversations";
import { count, money, share } from "../../parts/format";
import { ScrollContainer } from "../../parts/scroll_container";
import { EmptyState, QueryResult } from "../../parts/states";
import { href } from "../../shell/router";
import { useSession } from "../../shell/session";
import { Misses } from "./Misses";
import { causeText, missesOf } from "./misses";

export function CacheSection({
  since,
  conversation,
  span,
}: {
  since: string;
  conversation: string | null;
  span: string;
}) {
  const { owner } = useSession();
  const to = (id: string | null) => href("costs", [], { conversation: id, span });
  return (
    <section aria-labelledby="cache" class="vertical-stack">
      <h2 id="cache">
        Cache
        {conversation && (
          <span class="quiet wrap">
            {" "}
            of <QuotedName of={{ id: conversation }} />
          </span>
        )}
      </h2>
      <p class="quiet">
        Providers cache the prefix of a prompt and charge less for reading it. Any change invalidates everything after
        it. {conversation && <a href={to(null)}>{owner ? "Show all conversations" : "Choose another conversation"}</a>}
      </p>
      {owner || conversation ? (
        <CacheDetails since={since} conversation={conversation} to={to} />
      ) : (
        <OwnConversations to={to} what="the cache" />
      )}
    </section>
  );
}

function CacheDetails({
  since,
  conversation,
  to,
}: {
  since: string;
  conversation: string | null;
  to: (id: string) => string;
}) {
  const query = useQuery(
    `${since} ${conversation}`,
    async (signal) =>
      (await unwrap(
        api.GET("/api/v1/cache", { params: { query: { since, ...(conversation && { conversation }) } }, signal }),
      )) as unknown as Cache,
  );
  return (
    <QueryResult query={query} what="Cache">
      {(cache) =>
        cache.calls + cache.calls_unreported === 0 ? (
          <EmptyState title="No calls yet.">
            <p>The analysis needs two turns of a conversation.</p>
          </EmptyState>
        ) : (
          <>
            <div class="columns">
              <CacheRates cache={cache} />
              <MissCauses cache={cache} />
            </div>
            <Misses misses={missesOf(cache)} />
            <CacheByConversation cache={cache} to={to} />
          </>
        )
      }
    </QueryResult>
  );
}

function CacheRates({ cache }: { cache: Cache }) {
  return (
    <section class="card" aria-label="Cache hit rate">
      <dl class="figures">
        <div>
          <dt>read from the cache</dt>
          <dd>{cache.hit_rate === null || cache.hit_rate === undefined ? "not reported" : share(cache.hit_rate)}</dd>
        </div>
        <div>
          <dt>tokens from the cache</dt>
          <dd>{count(cache.tokens_read)}</dd>
        </div>
        <div>
          <dt>of tokens in</dt>
          <dd>{count(cache.input_tokens)}</dd>
        </div>
        <div>
          <dt>calls</dt>
          <dd>{count(cache.calls)}</dd>
        </div>
        {cache.calls_unreported > 0 && (
          <div>
            <dt>calls not reported</dt>
            <dd>{count(cache.calls_unreported)}</dd>
          </div>
        )}
      </dl>
      {cache.cut && <p class="quiet">Not all calls are included; choose a shorter period.</p>}
    </section>
  );
}

function MissCauses({ cache }: { cache: Cache }) {
  if (cache.causes.length === 0)
    return (
      <EmptyState title="No cache misses.">
        <p>All cacheable tokens were read from the cache.</p>
      </EmptyState>
    );
  return (
    <ScrollContainer label="Misses by cause" class="cost-table">
      <table>
        <caption class="visually-hidden">Misses by cause, most expensive first</caption>
        <thead>
          <tr>
            <th scope="col">Cause</th>
            <th scope="col" class="number">
              Misses
            </th>
            <th scope="col" class="number">
              Tokens rewritten
            </th>
            <th scope="col" class="number">
              Extra cost
            </th>
          </tr>
        </thead>
        <tbody>
          {cache.causes.map((cause) => (
            <tr key={cause.cause}>
              <th scope="row" class="wrap">
                {causeText(cause.cause)}
              </th>
              <td class="number">{count(cause.misses)}</td>
              <td class="number">{count(cause.tokens_rewritten)}</td>
              <td class="number" title={cause.unpriced > 0 ? `${cause.unpriced} without a known price` : undefined}>
                {cause.unpriced > 0 && "≥ "}
                {money(cause.extra_usd)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollContainer>
  );
}

function CacheByConversation({ cache, to }: { cache: Cache; to: (id: string) => string }) {
  return (
    <section aria-labelledby="rates" class="vertical-stack">
      <h3 id="rates">By conversation</h3>
      <ScrollContainer label="By conversation" class="cost-table">
        <table aria-labelledby="rates">
          <thead>
            <tr>
              <th scope="col">Conversation</th>
              <th scope="col" class="number">
                Calls
              </th>
              <th scope="col" class="number">
                Tokens in
              </th>
              <th scope="col" class="number">
                Misses
              </th>
              <th scope="col" class="number">
                From cache
              </th>
            </tr>
          </thead>
          <tbody>
            {cache.conversations.map((one) => (
              <tr key={one.conversation}>
                <th scope="row" class="wrap">
                  <a href={to(one.conversation)} title={one.conversation}>
                    <ConversationName of={{ id: one.conversation }} />
                  </a>
                </th>
                <td class="number">{count(one.calls)}</td>
                <td class="number">{count(one.input_tokens)}</td>
                <td class="number">{count(one.misses.length)}</td>
                <td class="number cost">
                  {one.hit_rate === null || one.hit_rate === undefined ? (
                    <span class="quiet">not reported</span>
                  ) : (
                    share(one.hit_rate)
                  )}
                  <span class="gauge" aria-hidden="true">
                    <span style={{ width: `${(one.hit_rate ?? 0) * 100}%` }} />
                  </span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollContainer>
    </section>
  );
}
