// The conversations there are, the latest first. The search and the filters stand in the address.
import { api, asked } from "../../api/client";
import { useEvery } from "../../api/asking";
import { Name } from "../../parts/conversation/Name";
import { When } from "../../parts/figures";
import { useKeptPages } from "../../parts/kept_pages";
import { Listed, Search, useSearched } from "../../parts/list";
import { useOccasions } from "../../parts/occasion";
import { Empty, Told } from "../../parts/told";
import { visible } from "../../parts/visible";
import type { ConversationBody } from "../../api/schema";
import { go, href } from "../../shell/router";
import { useSession } from "../../shell/session";

const PAGE = 100;

export function List({ query }: { query: URLSearchParams }) {
  const session = useSession();
  const [q, agent, user] = [query.get("q") ?? "", query.get("agent") ?? "", query.get("user") ?? ""];
  const move = (to: { q?: string; agent?: string; user?: string }) => go(href("conversations", [], { q, agent, user, ...to }), "replace");
  const [words, setWords] = useSearched(q, (q) => move({ q }));
  const pages = useKeptPages(JSON.stringify([q, agent, user]), (after, signal) => {
    const asks = { limit: PAGE, after, q: q || undefined, agent: agent || undefined, user: user || undefined };
    return asked(api.GET("/api/v1/conversations", { params: { query: asks }, signal }));
  });
  // Whoever has gone further down is left where they are.
  useEvery(10_000, () => pages.items.length <= PAGE && pages.look());
  const filtered = q !== "" || agent !== "" || user !== "";
  const clear = () => go(href("conversations"), "replace");
  return (
    <>
      <div class="head">
        <h1>Conversations</h1>
        <a href={href("chat")}>New conversation</a>
        <p>{session.owner ? "Everything that was said, by whom and where." : "The conversations you have begun."}</p>
      </div>
      <search class="row conversation-filters">
        <Search value={words} label={session.owner ? "Search titles, people and words" : "Search titles and people"} onInput={setWords} />
        <Filters agent={agent} user={user} move={move} />
      </search>
      <Listed pages={pages} what="Conversations" empty={filtered
        ? <Empty title="Nothing matches"><p>No conversation has this in it. <button class="plain" onClick={clear}>Show all</button></p></Empty>
        : <Empty title="No conversations yet"><p><a href={href("chat")}>Say something to the agent</a>, and it is kept here.</p></Empty>}>
        {(items) => <Rows items={items} busy={pages.busy} />}
      </Listed>
    </>
  );
}

function Filters({ agent, user, move }: { agent: string; user: string; move: (to: { agent?: string; user?: string }) => void }) {
  const { value: known, refusal, again } = useOccasions();
  const session = useSession();
  if (!known && refusal) return <Told refusal={refusal} again={again} />;
  return (
    <>
      {(known?.agents.length ?? 0) > 1 && (
        <select aria-label="Agent" value={agent} onChange={(event) => move({ agent: event.currentTarget.value })}>
          <option value="">all agents</option>
          {known?.agents.map((one) => <option key={one.name} value={one.name}>{one.name}</option>)}
        </select>
      )}
      {session.owner && (
        <select aria-label="Who began it" value={user} onChange={(event) => move({ user: event.currentTarget.value })}>
          <option value="">everybody</option>
          {known?.users.map((one) => <option key={one.name} value={one.name}>{one.name}</option>)}
        </select>
      )}
    </>
  );
}

function Rows({ items, busy }: { items: ConversationBody[]; busy: boolean }) {
  return (
    <div class="table conversations" aria-busy={busy} tabIndex={0} role="region" aria-label="Conversations">
      <table>
        <thead>
          <tr><th scope="col">Conversation</th><th scope="col">Who</th><th scope="col" class="wide">Where</th><th scope="col" class="wide">Situation</th><th scope="col" class="wide">Agent</th><th scope="col">Last activity</th></tr>
        </thead>
        <tbody>
          {items.map((one) => (
            <tr key={one.id}>
              <td class="title wrap"><a href={href("conversations", [one.id])}><Name of={one} /></a></td>
              <td class="word">{one.user ?? <span class="quiet">others</span>}</td>
              <td class="wide wrap">{one.channel ? visible(one.channel) : <span class="quiet">–</span>}</td>
              <td class="wide">{one.situation}</td>
              <td class="wide word">{one.agent}</td>
              <td class="when"><When at={one.last_activity_at} /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
