// Each miss of the cache: the cause, the place, the money, and what to do about it.
import { useState } from "preact/hooks";
import { Name } from "../../parts/conversation/Name";
import { When, count } from "../../parts/figures";
import { Ticked } from "../../parts/ticked";
import { sentence } from "../../parts/told";
import { href } from "../../shell/router";
import { type Miss, causeWords, moneyWords, placeWords } from "./misses";

/** As many as are read at once. */
const AT_FIRST = 20;

export function Misses({ misses }: { misses: Miss[] }) {
  const [shown, setShown] = useState(AT_FIRST);
  if (misses.length === 0) return null;
  return (
    <section aria-labelledby="misses" class="stack-of">
      <h3 id="misses">What was missed, and why</h3>
      <ul class="misses">
        {misses.slice(0, shown).map((miss) => <OneMiss key={`${miss.conversation} ${miss.at}`} miss={miss} />)}
      </ul>
      {misses.length > shown && <p class="more"><button onClick={() => setShown(shown + 100)}>Show more ({count(misses.length - shown)})</button></p>}
    </section>
  );
}

function OneMiss({ miss }: { miss: Miss }) {
  const place = placeWords(miss);
  return (
    <li class="card">
      <p class="row"><strong class="grow">{causeWords(miss.cause)}</strong> <span class="quiet"><When at={miss.at} /></span></p>
      {miss.detail && <p class="wrap"><Ticked words={sentence(miss.detail)} /></p>}
      <dl>
        {place && <div><dt>place</dt><dd class="wrap">{place}</dd></div>}
        <div><dt>cost</dt><dd>{moneyWords(miss)}</dd></div>
        <div><dt>tokens</dt><dd>{count(miss.tokens_rewritten)} read anew, {count(miss.tokens_read)} from the cache</dd></div>
        {miss.advice && <div><dt>what to do</dt><dd><Ticked words={sentence(miss.advice)} /></dd></div>}
      </dl>
      <p class="row links">
        <a class="wrap" href={href("conversations", [miss.conversation])}><Name of={{ id: miss.conversation }} />{miss.turn ? `, turn ${miss.turn}` : ""}</a>
        {miss.turn_id && <a href={href("trace", [miss.turn_id])}>Trace</a>}
      </p>
    </li>
  );
}
