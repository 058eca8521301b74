// Cache misses: cause, position, cost, and advice.
import { useState } from "preact/hooks";
import { CodeText } from "../../parts/code_text";
import { ConversationName } from "../../parts/conversation/ConversationName";
import { count, Timestamp } from "../../parts/format";
import { sentence } from "../../parts/states";
import { href } from "../../shell/router";
import { causeText, costText, type Miss, positionText } from "./misses";

/** Cache misses per page. */
const PAGE_SIZE = 20;

export function Misses({ misses }: { misses: Miss[] }) {
  const [shown, setShown] = useState(PAGE_SIZE);
  if (misses.length === 0) return null;
  return (
    <section aria-labelledby="misses" class="vertical-stack">
      <h3 id="misses">Cache misses</h3>
      <ul class="misses">
        {misses.slice(0, shown).map((miss) => (
          <MissCard key={`${miss.conversation} ${miss.at}`} miss={miss} />
        ))}
      </ul>
      {misses.length > shown && (
        <p class="more">
          <button type="button" onClick={() => setShown(shown + 100)}>
            Show more ({count(misses.length - shown)})
          </button>
        </p>
      )}
    </section>
  );
}

function MissCard({ miss }: { miss: Miss }) {
  const position = positionText(miss);
  return (
    <li class="card">
      <p class="row">
        <strong class="grow">{causeText(miss.cause)}</strong>{" "}
        <span class="quiet">
          <Timestamp at={miss.at} />
        </span>
      </p>
      {miss.detail && (
        <p class="wrap">
          <CodeText words={sentence(miss.detail)} />
        </p>
      )}
      <dl>
        {position && (
          <div>
            <dt>place</dt>
            <dd class="wrap">{position}</dd>
          </div>
        )}
        <div>
          <dt>cost</dt>
          <dd>{costText(miss)}</dd>
        </div>
        <div>
          <dt>tokens</dt>
          <dd>
            {count(miss.tokens_rewritten)} rewritten, {count(miss.tokens_read)} from the cache
          </dd>
        </div>
        {miss.advice && (
          <div>
            <dt>what to do</dt>
            <dd>
              <CodeText words={sentence(miss.advice)} />
            </dd>
          </div>
        )}
      </dl>
      <p class="row links">
        <a class="wrap" href={href("conversations", [miss.conversation])}>
          <ConversationName of={{ id: miss.conversation }} />
          {miss.turn ? `, turn ${miss.turn}` : ""}
        </a>
        {miss.turn_id && <a href={href("trace", [miss.turn_id])}>Trace</a>}
      </p>
    </li>
  );
}
