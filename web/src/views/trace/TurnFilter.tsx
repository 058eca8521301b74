// What to list: kept in the address, so that "what failed last night" can be shown to somebody else.
import { useId } from "preact/hooks";
import { ChooseConversation } from "../../parts/conversation/Choose";
import { useOccasions } from "../../parts/occasion";
import { Told } from "../../parts/told";
import { go, href } from "../../shell/router";
import { useSession } from "../../shell/session";
import { TIMES, type Time, timeOf } from "./times";

export interface Filter {
  conversation?: string;
  state?: string;
  user?: string;
  time: Time;
}

export function filterIn(query: URLSearchParams): Filter {
  const word = (name: string) => query.get(name) || undefined;
  return { conversation: word("conversation"), state: word("state"), user: word("user"), time: timeOf(query.get("time")) };
}

const STATES = [["", "all"], ["failed", "failed"], ["running", "running"], ["cancelled", "cancelled"], ["interrupted", "interrupted"], ["done", "done"]] as const;

export function TurnFilter({ filter, again, busy }: { filter: Filter; again: () => void; busy: boolean }) {
  const { owner } = useSession();
  const { value: known, refusal, again: askAgain } = useOccasions();
  const change = (part: Partial<Filter>) => go(href("trace", [], { ...filter, ...part }));
  return (
    <div class="turn-filter" role="search" aria-label="Which turns">
      <div class="states" role="group" aria-label="How they ended">
        {STATES.map(([id, words]) => (
          <button key={id} aria-pressed={(filter.state ?? "") === id} onClick={() => change({ state: id || undefined })}>{words}</button>
        ))}
      </div>
      <Choice label="when" value={filter.time} options={Object.entries(TIMES)} choose={(time) => change({ time: timeOf(time) })} />
      {owner && <Choice label="who" value={filter.user ?? ""} options={[["", "anybody"], ...(known?.users ?? []).map((user): [string, string] => [user.name, user.name])]} choose={(user) => change({ user: user || undefined })} />}
      <ChooseConversation label="conversation" chosen={filter.conversation ?? ""} none={owner ? "any" : "any of yours"} choose={(conversation) => change({ conversation: conversation || undefined })} />
      <button onClick={again} disabled={busy}>Refresh</button>
      {owner && !known && refusal && <Told refusal={refusal} again={askAgain} />}
    </div>
  );
}

function Choice({ label, value, options, choose }: { label: string; value: string; options: [string, string][]; choose: (value: string) => void }) {
  const id = useId();
  const listed = options.some(([one]) => one === value);
  return (
    <div class="choice">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {options.map(([one, words]) => <option key={one} value={one}>{words}</option>)}
        {!listed && <option value={value}>{value}</option>}
      </select>
    </div>
  );
}
