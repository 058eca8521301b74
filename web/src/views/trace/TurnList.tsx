// The list of turns; each row links to its waterfall.

import type { Pages } from "../../api/pages";
import { useInterval } from "../../api/query";
import type { Turn } from "../../api/schema";
import { OwnConversations } from "../../parts/conversation/OwnConversations";
import { PagedList } from "../../parts/list";
import { useRestoredPages } from "../../parts/restored_pages";
import { EmptyState } from "../../parts/states";
import { href, type Route } from "../../shell/router";
import { type Filter, filterIn, TurnFilter } from "./TurnFilter";
import { TurnTable } from "./TurnTable";
import { rangeOf } from "./time_ranges";
import { turnsOf } from "./turns";

export function TurnList({ route }: { route: Route }) {
  const filter = filterIn(route.query);
  return (
    <>
      <div class="head">
        <h1>Trace</h1>
        <p>A turn is one message and everything done to answer it. Open one to see its time and cost.</p>
      </div>
      <Turns filter={filter} />
    </>
  );
}

/** Turns per page. */
const PAGE_SIZE = 100;

function Turns({ filter }: { filter: Filter }) {
  const pages = useRestoredPages<Turn>(JSON.stringify(filter), (after, signal) =>
    turnsOf(
      {
        session: filter.conversation,
        state: filter.state,
        user: filter.user,
        ...rangeOf(filter.time, new Date()),
        limit: PAGE_SIZE,
        after,
      },
      signal,
    ),
  );
  // Refreshes while turns run, but only on the first page, so that a longer list does not shrink.
  useInterval(4000, () => isRunning(pages) && pages.refresh());
  if (pages.error?.code === "conversation_needed")
    return <OwnConversations to={(id) => href("trace", [], { conversation: id })} what="the turns" />;
  return (
    <div class="vertical-stack">
      <TurnFilter filter={filter} reload={pages.reload} busy={pages.busy} />
      <div class="vertical-stack" aria-busy={pages.busy}>
        <PagedList pages={pages} what="Turns" empty={<NoTurns filter={filter} />}>
          {(turns) => <TurnTable turns={turns} all={!pages.more} />}
        </PagedList>
      </div>
    </div>
  );
}

function isRunning(pages: Pages<Turn>): boolean {
  return pages.items.length <= PAGE_SIZE && pages.items.some((turn) => turn.state === "running");
}

function NoTurns({ filter }: { filter: Filter }) {
  const filtered = filter.conversation || filter.state || filter.user || filter.time;
  if (filter.state === "failed")
    return (
      <EmptyState title="No failed turns.">
        <p>
          All turns succeeded. <a href={href("trace")}>Show all turns</a>
        </p>
      </EmptyState>
    );
  if (filtered)
    return (
      <EmptyState title="No matching turns.">
        <p>
          <a href={href("trace")}>Show all turns</a>
        </p>
      </EmptyState>
    );
  return (
    <EmptyState title="No turns yet.">
      <p>
        Send a message in the <a href={href("chat")}>chat</a> to create one.
      </p>
    </EmptyState>
  );
}
