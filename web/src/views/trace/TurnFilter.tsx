// The filter of the turn list, kept in the URL so that it can be shared.
import { useId } from "preact/hooks";
import { ConversationPicker } from "../../parts/conversation/ConversationPicker";
import { useOccasions } from "../../parts/occasion";
import { ErrorNotice } from "../../parts/states";
import { href, navigate } from "../../shell/router";
import { useSession } from "../../shell/session";
import { TIMES, type Time, timeOf } from "./time_ranges";

export interface Filter {
  conversation?: string;
  state?: string;
  user?: string;
  time: Time;
}

export function filterIn(query: URLSearchParams): Filter {
  const word = (name: string) => query.get(name) || undefined;
  return {
    conversation: word("conversation"),
    state: word("state"),
    user: word("user"),
    time: timeOf(query.get("time")),
  };
}

const STATES = [
  ["", "all"],
  ["failed", "failed"],
  ["running", "running"],
  ["cancelled", "cancelled"],
  ["interrupted", "interrupted"],
  ["done", "done"],
] as const;

export function TurnFilter({ filter, reload, busy }: { filter: Filter; reload: () => void; busy: boolean }) {
  const { owner } = useSession();
  const { value: known, error, reload: askAgain } = useOccasions();
  const change = (part: Partial<Filter>) => navigate(href("trace", [], { ...filter, ...part }));
  return (
    <div class="turn-filter" role="search" aria-label="Filter">
      <div class="states" role="group" aria-label="Outcome">
        {STATES.map(([id, words]) => (
          <button
            type="button"
            key={id}
            aria-pressed={(filter.state ?? "") === id}
            onClick={() => change({ state: id || undefined })}
          >
            {words}
          </button>
        ))}
      </div>
      <Choice
        label="when"
        value={filter.time}
        options={Object.entries(TIMES)}
        choose={(time) => change({ time: timeOf(time) })}
      />
      {owner && (
        <Choice
          label="who"
          value={filter.user ?? ""}
          options={[["", "all users"], ...(known?.users ?? []).map((user): [string, string] => [user.name, user.name])]}
          choose={(user) => change({ user: user || undefined })}
        />
      )}
      <ConversationPicker
        label="conversation"
        chosen={filter.conversation ?? ""}
        noneLabel={owner ? "any" : "your conversations"}
        choose={(conversation) => change({ conversation: conversation || undefined })}
      />
      <button type="button" onClick={reload} disabled={busy}>
        Refresh
      </button>
      {owner && !known && error && <ErrorNotice error={error} reload={askAgain} />}
    </div>
  );
}

function Choice({
  label,
  value,
  options,
  choose,
}: {
  label: string;
  value: string;
  options: [string, string][];
  choose: (value: string) => void;
}) {
  const id = useId();
  const listed = options.some(([one]) => one === value);
  return (
    <div class="choice">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {options.map(([one, words]) => (
          <option key={one} value={one}>
            {words}
          </option>
        ))}
        {!listed && <option value={value}>{value}</option>}
      </select>
    </div>
  );
}
