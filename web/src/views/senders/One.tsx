// What was said with one sender, in order: their message, our answer.
import { useState } from "preact/hooks";
import { useAsking } from "../../api/asking";
import { api, asked } from "../../api/client";
import { usePages } from "../../api/pages";
import { When, count } from "../../parts/figures";
import { Listed } from "../../parts/list";
import { Answered, Empty } from "../../parts/told";
import { visible } from "../../parts/visible";
import { href } from "../../shell/router";
import { useSession } from "../../shell/session";
import { Address } from "./Address";
import { Exchange } from "./Exchange";
import { Leave } from "./Leave";
import { Waiting } from "./Waiting";

export function One({ sender }: { sender: string }) {
  const session = useSession();
  const [round, setRound] = useState(0);
  const changed = () => setRound((round) => round + 1);
  const about = useAsking(`${sender} ${round}`, (signal) => asked(api.GET("/api/v1/senders/{sender}", { params: { path: { sender }, query: { limit: 1 } }, signal })));
  return (
    <>
      <div class="head">
        <h1 class="wrap" title={visible(sender)}><Address of={sender} /></h1>
        {session.owner && session.scopes.includes("admin") && <Leave names={sender} answered={changed} />}
        <p>
          {session.owner && <a href={href("senders")}>All senders</a>}
          {about.value && <>{session.owner && " · "}{count(about.value.exchanges)} {about.value.exchanges === 1 ? "exchange" : "exchanges"}, first <When at={about.value.first_seen} />, last <When at={about.value.last_activity} /></>}
        </p>
      </div>
      {session.owner && session.scopes.includes("observe") && <Waiting of={sender} changed={changed} />}
      <Answered asking={about} what="What was said">{() => <Exchanges sender={sender} round={round} />}</Answered>
    </>
  );
}

export function Exchanges({ sender, round }: { sender: string; round: number }) {
  const pages = usePages(`${sender} ${round}`, async (after, signal) => (await asked(api.GET("/api/v1/senders/{sender}", { params: { path: { sender }, query: { limit: 100, after } }, signal }))).entries);
  return (
    <Listed pages={pages} what="What was said" empty={<Empty title="Nothing was answered yet"><p>What waits for an answer stands above.</p></Empty>}>
      {(items) => <ol class="exchanges" aria-label="Exchanges">{items.map((one) => <Exchange key={one.inbox_message_id} sender={sender} exchange={one} />)}</ol>}
    </Listed>
  );
}
