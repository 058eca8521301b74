// The list of turns: what failed is one click away, and each row leads to its waterfall.
import { useEvery } from "../../api/asking";
import type { Pages } from "../../api/pages";
import type { Turn } from "../../api/schema";
import { Own } from "../../parts/conversation/Own";
import { useKeptPages } from "../../parts/kept_pages";
import { Listed } from "../../parts/list";
import { Empty } from "../../parts/told";
import { type Place, href } from "../../shell/router";
import { TurnFilter, filterIn, type Filter } from "./TurnFilter";
import { TurnTable } from "./TurnTable";
import { stretchOf } from "./times";
import { turnsOf } from "./turns";

export function TurnList({ place }: { place: Place }) {
  const filter = filterIn(place.query);
  return (
    <>
      <div class="head">
        <h1>Trace</h1>
        <p>A turn is one message and all that was done to answer it. Open one to see where its time and its money went.</p>
      </div>
      <Turns filter={filter} />
    </>
  );
}

/** As many as fill a screen or two; the rest is asked for when it is wanted. */
const AT_ONCE = 100;

function Turns({ filter }: { filter: Filter }) {
  const pages = useKeptPages<Turn>(JSON.stringify(filter), (after, signal) =>
    turnsOf({ session: filter.conversation, state: filter.state, user: filter.user, ...stretchOf(filter.time, new Date()), limit: AT_ONCE, after }, signal));
  // What is under way changes by itself. Further pages stay as they were asked for: a list that shrinks under one's hand is worse.
  useEvery(4000, () => isGoingOn(pages) && pages.look());
  if (pages.refusal?.code === "conversation_needed") return <Own to={(id) => href("trace", [], { conversation: id })} what="the turns" />;
  return (
    <div class="stack-of">
      <TurnFilter filter={filter} again={pages.again} busy={pages.busy} />
      <div class="stack-of" aria-busy={pages.busy}><Listed pages={pages} what="Turns" empty={<NoTurns filter={filter} />}>
        {(turns) => <TurnTable turns={turns} all={!pages.more} />}
      </Listed></div>
    </div>
  );
}

function isGoingOn(pages: Pages<Turn>): boolean {
  return pages.items.length <= AT_ONCE && pages.items.some((turn) => turn.state === "running");
}

function NoTurns({ filter }: { filter: Filter }) {
  const filtered = filter.conversation || filter.state || filter.user || filter.time;
  if (filter.state === "failed") return <Empty title="No turn failed here."><p>That is good news. <a href={href("trace")}>Show all turns</a></p></Empty>;
  if (filtered) return <Empty title="No turn is like that."><p><a href={href("trace")}>Show all turns</a></p></Empty>;
  return <Empty title="There was no turn yet."><p>Say something in the <a href={href("chat")}>chat</a>, and its turn is listed here.</p></Empty>;
}
