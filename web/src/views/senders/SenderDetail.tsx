// The messages of one sender and their answers, in order.
import { useState } from "preact/hooks";
import { api, unwrap } from "../../api/client";
import { usePages } from "../../api/pages";
import { useQuery } from "../../api/query";
import { showBidiControls } from "../../parts/bidi";
import { count, Timestamp } from "../../parts/format";
import { PagedList } from "../../parts/list";
import { EmptyState, QueryResult } from "../../parts/states";
import { href } from "../../shell/router";
import { useSession } from "../../shell/session";
import { Address } from "./Address";
import { Exchange } from "./Exchange";
import { SubmitMessage } from "./SubmitMessage";
import { UnansweredMessages } from "./UnansweredMessages";

export function SenderDetail({ sender }: { sender: string }) {
  const session = useSession();
  const [round, setRound] = useState(0);
  const changed = () => setRound((round) => round + 1);
  const about = useQuery(`${sender} ${round}`, (signal) =>
    unwrap(api.GET("/api/v1/senders/{sender}", { params: { path: { sender }, query: { limit: 1 } }, signal })),
  );
  return (
    <>
      <div class="head">
        <h1 class="wrap" title={showBidiControls(sender)}>
          <Address of={sender} />
        </h1>
        {session.owner && session.scopes.includes("admin") && <SubmitMessage names={sender} answered={changed} />}
        <p>
          {session.owner && <a href={href("senders")}>All senders</a>}
          {about.value && (
            <>
              {session.owner && " · "}
              {count(about.value.exchanges)} {about.value.exchanges === 1 ? "exchange" : "exchanges"}, first{" "}
              <Timestamp at={about.value.first_seen} />, last <Timestamp at={about.value.last_activity} />
            </>
          )}
        </p>
      </div>
      {session.owner && session.scopes.includes("observe") && <UnansweredMessages of={sender} changed={changed} />}
      <QueryResult query={about} what="Messages">
        {() => <Exchanges sender={sender} round={round} />}
      </QueryResult>
    </>
  );
}

export function Exchanges({ sender, round }: { sender: string; round: number }) {
  const pages = usePages(
    `${sender} ${round}`,
    async (after, signal) =>
      (
        await unwrap(
          api.GET("/api/v1/senders/{sender}", { params: { path: { sender }, query: { limit: 100, after } }, signal }),
        )
      ).entries,
  );
  return (
    <PagedList
      pages={pages}
      what="Messages"
      empty={
        <EmptyState title="No answers yet">
          <p>Unanswered messages are shown above.</p>
        </EmptyState>
      }
    >
      {(items) => (
        <ol class="exchanges" aria-label="Exchanges">
          {items.map((one) => (
            <Exchange key={one.inbox_message_id} sender={sender} exchange={one} />
          ))}
        </ol>
      )}
    </PagedList>
  );
}
