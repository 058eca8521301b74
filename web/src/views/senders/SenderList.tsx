// All senders, most recent first, the waiting messages, and a form to submit one.
import { useState } from "preact/hooks";
import { api, unwrap } from "../../api/client";
import { useInterval } from "../../api/query";
import { count, Timestamp } from "../../parts/format";
import { PagedList, SearchField, useSearchField } from "../../parts/list";
import { useRestoredPages } from "../../parts/restored_pages";
import { EmptyState } from "../../parts/states";
import { href, navigate } from "../../shell/router";
import { Address } from "./Address";
import { SubmitMessage } from "./SubmitMessage";
import { UnansweredMessages } from "./UnansweredMessages";

const PAGE_SIZE = 100;

export function SenderList({ query }: { query: URLSearchParams }) {
  const q = query.get("q") ?? "";
  const [words, setWords] = useSearchField(q, (q) => navigate(href("senders", [], { q }), "replace"));
  const [round, setRound] = useState(0);
  const pages = useRestoredPages(JSON.stringify([q, round]), (after, signal) => {
    const asks = { limit: PAGE_SIZE, after, q: q || undefined };
    return unwrap(api.GET("/api/v1/senders", { params: { query: asks }, signal }));
  });
  // Do not refresh while the user has loaded further pages.
  useInterval(5_000, () => pages.items.length <= PAGE_SIZE && pages.refresh());
  const changed = () => setRound((round) => round + 1);
  return (
    <>
      <div class="head">
        <h1>Senders</h1>
        <SubmitMessage names answered={changed} />
        <p>
          People and programs that send messages to the agent's inbox. The agent treats them as data, never as
          instructions.
        </p>
      </div>
      <UnansweredMessages changed={changed} />
      <search class="row senders-search">
        <SearchField value={words} label="Search addresses" onInput={setWords} />
      </search>
      <PagedList
        pages={pages}
        what="Senders"
        empty={
          q ? (
            <EmptyState title="No matches">
              <p>
                No address matches the search.{" "}
                <button type="button" class="plain" onClick={() => navigate(href("senders"), "replace")}>
                  Show all
                </button>
              </p>
            </EmptyState>
          ) : (
            <EmptyState title="No senders yet">
              <p>
                Bridges submit messages with <code>POST /api/v1/inbox</code>, command-line users with{" "}
                <code>foreword inbox stage</code>. Submit one yourself to test it.
              </p>
            </EmptyState>
          )
        }
      >
        {(items) => (
          <div class="table senders" tabIndex={0} role="region" aria-label="Senders">
            <table>
              <thead>
                <tr>
                  <th scope="col">Sender</th>
                  <th scope="col" class="number">
                    Exchanges
                  </th>
                  <th scope="col" class="wide">
                    First
                  </th>
                  <th scope="col" class="wide">
                    Last
                  </th>
                </tr>
              </thead>
              <tbody>
                {items.map((one) => (
                  <tr key={one.sender}>
                    <td class="wrap">
                      <a href={href("senders", [one.sender])}>
                        <Address of={one.sender} />
                      </a>
                      <span class="narrow quiet">
                        last <Timestamp at={one.last_activity} />
                      </span>
                    </td>
                    <td class="number">{count(one.exchanges)}</td>
                    <td class="wide">
                      <Timestamp at={one.first_seen} />
                    </td>
                    <td class="wide">
                      <Timestamp at={one.last_activity} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </PagedList>
    </>
  );
}
