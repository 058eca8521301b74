// Chooses one of any number of conversations: a field to search in, with the recent ones below it as long as nothing is typed.
import { useEffect, useId, useState } from "preact/hooks";
import { useAsking, useSettled } from "../../api/asking";
import { api, asked } from "../../api/client";
import type { ConversationBody } from "../../api/schema";
import { When } from "../figures";
import { Name, useName } from "./Name";

/** As many as fit below the field; who looks for another one types some of it. */
const OFFERED = 12;

interface Props {
  label: string;
  /** The id of the one that is chosen; empty if none is. */
  chosen: string;
  choose: (id: string) => void;
  /** What choosing none is called, where that can be done. */
  none?: string;
}

export function ChooseConversation({ label, chosen, choose, none }: Props) {
  const id = useId();
  const [words, setWords] = useState<string>();
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const [entered, setEntered] = useState(false);
  const q = useSettled((words ?? "").trim(), 200);
  const asking = useAsking(open ? q : null, async (signal) => ({ to: q, items: (await asked(api.GET("/api/v1/conversations", { params: { query: { limit: OFFERED, q: q || undefined } }, signal }))).items }));
  const { name } = useName({ id: chosen }, chosen !== "");
  const offered: (ConversationBody | undefined)[] = [...(none !== undefined && q === "" ? [undefined] : []), ...(asking.value?.items ?? [])];
  /** Whether what is offered is what was typed for. */
  const settled = asking.value?.to === (words ?? "").trim();
  const close = () => {
    setOpen(false);
    setEntered(false);
    setWords(undefined);
    setAt(-1);
  };
  const take = (one: ConversationBody | undefined) => {
    close();
    choose(one?.id ?? "");
  };
  // Whoever has typed something and goes no further means the first that is found, also if it is found after they pressed Enter.
  useEffect(() => {
    if (!entered || !settled) return;
    setEntered(false);
    if (offered.length > 0) take(offered[0]);
  }, [entered, settled]);
  useEffect(() => {
    if (at >= 0) document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: "nearest" });
  }, [at]);
  const pressed = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setOpen(true);
      setAt(open && offered.length > 0 ? (at + step + offered.length) % offered.length : at);
    } else if (event.key === "Enter" && open) {
      event.preventDefault();
      if (at >= 0 && at < offered.length) take(offered[at]);
      else if (words) setEntered(true);
    } else if (event.key === "Escape" && open) {
      event.preventDefault();
      close();
    }
  };
  return (
    <div class="choice choose-conversation">
      <label for={id}>{label}</label>
      <input id={id} type="text" role="combobox" autoComplete="off" aria-autocomplete="list" aria-expanded={open} aria-controls={`${id}-list`} aria-activedescendant={at >= 0 ? `${id}-${at}` : undefined}
        title={chosen || undefined} placeholder={none ?? "Search"} value={words ?? (chosen ? name : "")}
        onFocus={(event) => event.currentTarget.select()} onClick={() => setOpen(true)} onBlur={close} onKeyDown={pressed}
        onInput={(event) => { setWords(event.currentTarget.value); setOpen(true); setAt(-1); setEntered(false); }} />
      <ul id={`${id}-list`} role="listbox" aria-label={label} hidden={!open} onMouseDown={(event) => event.preventDefault()}>
        {offered.map((one, index) => (
          <li key={one?.id ?? ""} id={`${id}-${index}`} role="option" aria-selected={(one?.id ?? "") === chosen} class={index === at ? "active" : undefined} onClick={() => take(one)}>
            {one ? <><span class="wrap"><Name of={one} /></span> <span class="quiet">{[one.user ?? "others", one.agent].join(", ")}, <When at={one.last_activity_at} /></span></> : none}
          </li>
        ))}
        {open && offered.length === 0 && <li role="option" aria-disabled="true" aria-selected={false} class="quiet">{asking.refusal ? asking.refusal.message : asking.value ? "None has this in it." : "One moment …"}</li>}
      </ul>
    </div>
  );
}
