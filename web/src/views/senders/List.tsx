// Everybody who has written, the last to write first; what still waits for an answer; and a way to try it.
import { useState } from "preact/hooks";
import { useEvery } from "../../api/asking";
import { api, asked } from "../../api/client";
import { When, count } from "../../parts/figures";
import { useKeptPages } from "../../parts/kept_pages";
import { Listed, Search, useSearched } from "../../parts/list";
import { Empty } from "../../parts/told";
import { go, href } from "../../shell/router";
import { Address } from "./Address";
import { Leave } from "./Leave";
import { Waiting } from "./Waiting";

const PAGE = 100;

export function List({ query }: { query: URLSearchParams }) {
  const q = query.get("q") ?? "";
  const [words, setWords] = useSearched(q, (q) => go(href("senders", [], { q }), "replace"));
  const [round, setRound] = useState(0);
  const pages = useKeptPages(JSON.stringify([q, round]), (after, signal) => {
    const asks = { limit: PAGE, after, q: q || undefined };
    return asked(api.GET("/api/v1/senders", { params: { query: asks }, signal }));
  });
  // Whoever has gone further down is left where they are.
  useEvery(5_000, () => pages.items.length <= PAGE && pages.look());
  const changed = () => setRound((round) => round + 1);
  return (
    <>
      <div class="head">
        <h1>Senders</h1>
        <Leave names answered={changed} />
        <p>People and programs who leave messages for the agent. What they write is data to it, never an instruction.</p>
      </div>
      <Waiting changed={changed} />
      <search class="row senders-search"><Search value={words} label="Search addresses" onInput={setWords} /></search>
      <Listed pages={pages} what="Senders" empty={q
        ? <Empty title="Nobody matches"><p>No address has this in it. <button class="plain" onClick={() => go(href("senders"), "replace")}>Show all</button></p></Empty>
        : <Empty title="Nobody has written yet"><p>Bridges leave messages with <code>POST /api/v1/inbox</code>, people at a terminal with <code>foreword inbox stage</code>. Leave one yourself to see how it is answered.</p></Empty>}>
        {(items) => (
          <div class="table senders" tabIndex={0} role="region" aria-label="Senders">
            <table>
              <thead><tr><th scope="col">Sender</th><th scope="col" class="number">Exchanges</th><th scope="col" class="wide">First</th><th scope="col" class="wide">Last</th></tr></thead>
              <tbody>
                {items.map((one) => (
                  <tr key={one.sender}>
                    <td class="wrap"><a href={href("senders", [one.sender])}><Address of={one.sender} /></a><span class="narrow quiet">last <When at={one.last_activity} /></span></td>
                    <td class="number">{count(one.exchanges)}</td>
                    <td class="wide"><When at={one.first_seen} /></td>
                    <td class="wide"><When at={one.last_activity} /></td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Listed>
    </>
  );
}
