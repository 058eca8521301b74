// What the provider's cache gave, why it was missed, and which conversations it serves well.
import { useAsking } from "../../api/asking";
import { api, asked } from "../../api/client";
import type { Cache } from "../../api/schema";
import { Name, Quoted } from "../../parts/conversation/Name";
import { Own } from "../../parts/conversation/Own";
import { count, money, share } from "../../parts/figures";
import { Scrolled } from "../../parts/scrolled";
import { Answered, Empty } from "../../parts/told";
import { href } from "../../shell/router";
import { useSession } from "../../shell/session";
import { Misses } from "./Misses";
import { causeWords, missesOf } from "./misses";

export function CacheSection({ since, conversation, span }: { since: string; conversation: string | null; span: string }) {
  const { owner } = useSession();
  const to = (id: string | null) => href("costs", [], { conversation: id, span });
  return (
    <section aria-labelledby="cache" class="stack-of">
      <h2 id="cache">Cache{conversation && <span class="quiet wrap"> of <Quoted of={{ id: conversation }} /></span>}</h2>
      <p class="quiet">A provider keeps the beginning of a prompt and reads it again at a fraction of the price. One changed letter un-caches everything behind it. {conversation && <a href={to(null)}>{owner ? "Show all conversations" : "Choose another conversation"}</a>}</p>
      {owner || conversation ? <Cached since={since} conversation={conversation} to={to} /> : <Own to={to} what="the cache" />}
    </section>
  );
}

function Cached({ since, conversation, to }: { since: string; conversation: string | null; to: (id: string) => string }) {
  const asking = useAsking(`${since} ${conversation}`, async (signal) =>
    (await asked(api.GET("/api/v1/cache", { params: { query: { since, ...(conversation && { conversation }) } }, signal }))) as unknown as Cache);
  return (
    <Answered asking={asking} what="Cache">{(cache) => cache.calls + cache.calls_unreported === 0 ? <Empty title="No call has been looked at yet."><p>After two turns of one conversation there is something to compare.</p></Empty> : (
      <>
        <div class="columns">
          <Rate cache={cache} />
          <Causes cache={cache} />
        </div>
        <Misses misses={missesOf(cache)} />
        <Conversations cache={cache} to={to} />
      </>
    )}</Answered>
  );
}

function Rate({ cache }: { cache: Cache }) {
  return (
    <section class="card" aria-label="How much came from the cache">
      <dl class="figures">
        <div><dt>read from the cache</dt><dd>{cache.hit_rate === null || cache.hit_rate === undefined ? "not reported" : share(cache.hit_rate)}</dd></div>
        <div><dt>tokens from the cache</dt><dd>{count(cache.tokens_read)}</dd></div>
        <div><dt>of tokens in</dt><dd>{count(cache.input_tokens)}</dd></div>
        <div><dt>calls</dt><dd>{count(cache.calls)}</dd></div>
        {cache.calls_unreported > 0 && <div><dt>calls not reported</dt><dd>{count(cache.calls_unreported)}</dd></div>}
      </dl>
      {cache.cut && <p class="quiet">There were more calls than were looked at; choose a shorter time.</p>}
    </section>
  );
}

function Causes({ cache }: { cache: Cache }) {
  if (cache.causes.length === 0) return <Empty title="Nothing was missed."><p>Whatever could be read from the cache was.</p></Empty>;
  return (
    <Scrolled label="Misses by cause" class="cost-table">
      <table>
        <caption class="visually-hidden">Misses by cause, the dearest first</caption>
        <thead><tr><th scope="col">Cause</th><th scope="col" class="number">Misses</th><th scope="col" class="number">Tokens again</th><th scope="col" class="number">Dearer by</th></tr></thead>
        <tbody>{cache.causes.map((cause) => (
          <tr key={cause.cause}>
            <th scope="row" class="wrap">{causeWords(cause.cause)}</th><td class="number">{count(cause.misses)}</td><td class="number">{count(cause.tokens_rewritten)}</td>
            <td class="number" title={cause.unpriced > 0 ? `${cause.unpriced} of them have no known price` : undefined}>{cause.unpriced > 0 && "≥ "}{money(cause.extra_usd)}</td>
          </tr>
        ))}</tbody>
      </table>
    </Scrolled>
  );
}

function Conversations({ cache, to }: { cache: Cache; to: (id: string) => string }) {
  return (
    <section aria-labelledby="rates" class="stack-of">
      <h3 id="rates">By conversation</h3>
      <Scrolled label="By conversation" class="cost-table">
        <table aria-labelledby="rates">
          <thead><tr><th scope="col">Conversation</th><th scope="col" class="number">Calls</th><th scope="col" class="number">Tokens in</th><th scope="col" class="number">Misses</th><th scope="col" class="number">From cache</th></tr></thead>
          <tbody>{cache.conversations.map((one) => (
            <tr key={one.conversation}>
              <th scope="row" class="wrap"><a href={to(one.conversation)} title={one.conversation}><Name of={{ id: one.conversation }} /></a></th>
              <td class="number">{count(one.calls)}</td><td class="number">{count(one.input_tokens)}</td><td class="number">{count(one.misses.length)}</td>
              <td class="number cost">{one.hit_rate === null || one.hit_rate === undefined ? <span class="quiet">not reported</span> : share(one.hit_rate)}<span class="gauge" aria-hidden="true"><span style={{ width: `${(one.hit_rate ?? 0) * 100}%` }} /></span></td>
            </tr>
          ))}</tbody>
        </table>
      </Scrolled>
    </section>
  );
}
