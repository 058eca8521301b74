// The list of conversations, latest first. Search and filters are part of the URL.

import { api, unwrap } from "../../api/client";
import { useInterval } from "../../api/query";
import type { ConversationBody } from "../../api/schema";
import { showBidiControls } from "../../parts/bidi";
import { ConversationName } from "../../parts/conversation/ConversationName";
import { Timestamp } from "../../parts/format";
import { PagedList, SearchField, useSearchField } from "../../parts/list";
import { useOccasions } from "../../parts/occasion";
import { useRestoredPages } from "../../parts/restored_pages";
import { EmptyState, ErrorNotice } from "../../parts/states";
import { href, navigate } from "../../shell/router";
import { useSession } from "../../shell/session";

const PAGE_SIZE = 100;

export function ConversationList({ query }: { query: URLSearchParams }) {
  const session = useSession();
  const [q, agent, user] = [query.get("q") ?? "", query.get("agent") ?? "", query.get("user") ?? ""];
  const move = (to: { q?: string; agent?: string; user?: string }) =>
    navigate(href("conversations", [], { q, agent, user, ...to }), "replace");
  const [words, setWords] = useSearchField(q, (q) => move({ q }));
  const pages = useRestoredPages(JSON.stringify([q, agent, user]), (after, signal) => {
    const asks = { limit: PAGE_SIZE, after, q: q || undefined, agent: agent || undefined, user: user || undefined };
    return unwrap(api.GET("/api/v1/conversations", { params: { query: asks }, signal }));
  });
  // Do not refresh while the user has loaded further pages.
  useInterval(10_000, () => pages.items.length <= PAGE_SIZE && pages.refresh());
  const filtered = q !== "" || agent !== "" || user !== "";
  const clear = () => navigate(href("conversations"), "replace");
  return (
    <>
      <div class="head">
        <h1>Conversations</h1>
        <a href={href("chat")}>New conversation</a>
        <p>{session.owner ? "All conversations." : "Conversations you started."}</p>
      </div>
      <search class="row conversation-filters">
        <SearchField
          value={words}
          label={session.owner ? "Search titles, users and messages" : "Search titles and users"}
          onInput={setWords}
        />
        <Filters agent={agent} user={user} move={move} />
      </search>
      <PagedList
        pages={pages}
        what="Conversations"
        empty={
          filtered ? (
            <EmptyState title="No matches">
              <p>
                No conversation matches the search.{" "}
                <button type="button" class="plain" onClick={clear}>
                  Show all
                </button>
              </p>
            </EmptyState>
          ) : (
            <EmptyState title="No conversations yet">
              <p>
                <a href={href("chat")}>Send a message to the agent</a> to create one.
              </p>
            </EmptyState>
          )
        }
      >
        {(items) => <Rows items={items} busy={pages.busy} />}
      </PagedList>
    </>
  );
}

function Filters({
  agent,
  user,
  move,
}: {
  agent: string;
  user: string;
  move: (to: { agent?: string; user?: string }) => void;
}) {
  const { value: known, error, reload } = useOccasions();
  const session = useSession();
  if (!known && error) return <ErrorNotice error={error} reload={reload} />;
  return (
    <>
      {(known?.agents.length ?? 0) > 1 && (
        <select aria-label="Agent" value={agent} onChange={(event) => move({ agent: event.currentTarget.value })}>
          <option value="">all agents</option>
          {known?.agents.map((one) => (
            <option key={one.name} value={one.name}>
              {one.name}
            </option>
          ))}
        </select>
      )}
      {session.owner && (
        <select aria-label="Started by" value={user} onChange={(event) => move({ user: event.currentTarget.value })}>
          <option value="">all users</option>
          {known?.users.map((one) => (
            <option key={one.name} value={one.name}>
              {one.name}
            </option>
          ))}
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
          <tr>
            <th scope="col">Conversation</th>
            <th scope="col">Who</th>
            <th scope="col" class="wide">
              Where
            </th>
            <th scope="col" class="wide">
              Situation
            </th>
            <th scope="col" class="wide">
              Agent
            </th>
            <th scope="col">Last activity</th>
          </tr>
        </thead>
        <tbody>
          {items.map((one) => (
            <tr key={one.id}>
              <td class="title wrap">
                <a href={href("conversations", [one.id])}>
                  <ConversationName of={one} />
                </a>
              </td>
              <td class="word">{one.user ?? <span class="quiet">others</span>}</td>
              <td class="wide wrap">{one.channel ? showBidiControls(one.channel) : <span class="quiet">–</span>}</td>
              <td class="wide">{one.situation}</td>
              <td class="wide word">{one.agent}</td>
              <td class="when">
                <Timestamp at={one.last_activity_at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
