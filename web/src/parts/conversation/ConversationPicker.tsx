// A combobox to choose a conversation: searches as you type, and lists recent conversations before that.
import { useEffect, useId, useState } from "preact/hooks";
import { api, unwrap } from "../../api/client";
import { useDebounced, useQuery } from "../../api/query";
import type { ConversationBody } from "../../api/schema";
import { Timestamp } from "../format";
import { ConversationName, useConversationName } from "./ConversationName";

/** The number of suggestions. */
const MAX_SUGGESTIONS = 12;

interface Props {
  label: string;
  /** The id of the chosen conversation, or an empty string. */
  chosen: string;
  choose: (id: string) => void;
  /** The label of the "none" option; omit it to require a choice. */
  noneLabel?: string;
}

export function ConversationPicker({ label, chosen, choose, noneLabel }: Props) {
  const id = useId();
  const [input, setInput] = useState<string>();
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  const [submitted, setSubmitted] = useState(false);
  const q = useDebounced((input ?? "").trim(), 200);
  const search = useQuery(open ? q : null, async (signal) => ({
    to: q,
    items: (
      await unwrap(
        api.GET("/api/v1/conversations", { params: { query: { limit: MAX_SUGGESTIONS, q: q || undefined } }, signal }),
      )
    ).items,
  }));
  const { name } = useConversationName({ id: chosen }, chosen !== "");
  const suggestions: (ConversationBody | undefined)[] = [
    ...(noneLabel !== undefined && q === "" ? [undefined] : []),
    ...(search.value?.items ?? []),
  ];
  /** Whether the suggestions match the current input. */
  const upToDate = search.value?.to === (input ?? "").trim();
  const close = () => {
    setOpen(false);
    setSubmitted(false);
    setInput(undefined);
    setActive(-1);
  };
  const select = (one: ConversationBody | undefined) => {
    close();
    choose(one?.id ?? "");
  };
  // Enter chooses the first match, even if the search finishes after the key press.
  useEffect(() => {
    if (!submitted || !upToDate) return;
    setSubmitted(false);
    if (suggestions.length > 0) select(suggestions[0]);
  }, [submitted, upToDate]);
  useEffect(() => {
    if (active >= 0) document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: "nearest" });
  }, [active]);
  const pressed = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setOpen(true);
      setActive(open && suggestions.length > 0 ? (active + step + suggestions.length) % suggestions.length : active);
    } else if (event.key === "Enter" && open) {
      event.preventDefault();
      if (active >= 0 && active < suggestions.length) select(suggestions[active]);
      else if (input) setSubmitted(true);
    } else if (event.key === "Escape" && open) {
      event.preventDefault();
      close();
    }
  };
  return (
    <div class="choice choose-conversation">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="text"
        role="combobox"
        autoComplete="off"
        aria-autocomplete="list"
        aria-expanded={open}
        aria-controls={`${id}-list`}
        aria-activedescendant={active >= 0 ? `${id}-${active}` : undefined}
        title={chosen || undefined}
        placeholder={noneLabel ?? "Search"}
        value={input ?? (chosen ? name : "")}
        onFocus={(event) => event.currentTarget.select()}
        onClick={() => setOpen(true)}
        onBlur={close}
        onKeyDown={pressed}
        onInput={(event) => {
          setInput(event.currentTarget.value);
          setOpen(true);
          setActive(-1);
          setSubmitted(false);
        }}
      />
      <ul
        id={`${id}-list`}
        role="listbox"
        aria-label={label}
        hidden={!open}
        onMouseDown={(event) => event.preventDefault()}
      >
        {suggestions.map((one, index) => (
          <li
            key={one?.id ?? ""}
            id={`${id}-${index}`}
            role="option"
            aria-selected={(one?.id ?? "") === chosen}
            class={index === active ? "active" : undefined}
            onClick={() => select(one)}
          >
            {one ? (
              <>
                <span class="wrap">
                  <ConversationName of={one} />
                </span>{" "}
                <span class="quiet">
                  {[one.user ?? "others", one.agent].join(", ")}, <Timestamp at={one.last_activity_at} />
                </span>
              </>
            ) : (
              noneLabel
            )}
          </li>
        ))}
        {open && suggestions.length === 0 && (
          <li role="option" aria-disabled="true" aria-selected={false} class="quiet">
            {search.error ? search.error.message : search.value ? "No matches." : "One moment …"}
          </li>
        )}
      </ul>
    </div>
  );
}
