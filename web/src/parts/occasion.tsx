// Who speaks, where, to which agent: what a prompt is built for. Kept in the address, so that it can be shared.
import { useEffect, useId } from "preact/hooks";
import { type Asking, useAsking } from "../api/asking";
import { api, asked } from "../api/client";
import type { Occasions } from "../api/schema";
import { Told } from "./told";

export type { Occasions };

export interface Occasion {
  user?: string;
  channel?: string;
  situation?: string;
  agent?: string;
  model?: string;
}

let known: Promise<Occasions> | undefined;

/** Asked once for the whole page. */
async function occasions(): Promise<Occasions> {
  known ??= asked(api.GET("/api/v1/occasions"));
  known.catch(() => (known = undefined));
  return known;
}

const askers = new Set<() => void>();

/** Whoever tries again does so for everybody: one list that is there beside one that is not would be a riddle. */
export function useOccasions(): Asking<Occasions> {
  const asking = useAsking("occasions", occasions);
  useEffect(() => {
    askers.add(asking.again);
    return () => void askers.delete(asking.again);
  }, []);
  return { ...asking, again: askAgain };
}

function askAgain(): void {
  for (const again of askers) again();
}

const FIELDS = ["user", "situation", "channel", "agent", "model"] as const;

export function occasionIn(query: URLSearchParams, prefix = ""): Occasion {
  const occasion: Occasion = {};
  for (const field of FIELDS) {
    const value = query.get(prefix + field);
    if (value) occasion[field] = value;
  }
  return occasion;
}

export function occasionQuery(occasion: Occasion, prefix = ""): Record<string, string | undefined> {
  return Object.fromEntries(FIELDS.map((field) => [prefix + field, occasion[field] || undefined]));
}

/** Fields for an occasion, out of what this server knows. */
export function OccasionPicker({ value, change, label, fields = FIELDS }: { value: Occasion; change: (occasion: Occasion) => void; label: string; fields?: readonly (typeof FIELDS)[number][] }) {
  const { value: known, refusal, again } = useOccasions();
  if (!known && refusal) return <Told refusal={refusal} again={again} />;
  const options: Record<(typeof FIELDS)[number], { id: string; words: string }[]> = {
    user: known?.users.map((user) => ({ id: user.name, words: `${user.name} (${user.trust})` })) ?? [],
    situation: known?.situations.map((one) => ({ id: one.name, words: `${one.name} (at most ${one.ceiling})` })) ?? [],
    channel: known?.channels.map((id) => ({ id, words: id })) ?? [],
    agent: known?.agents.map((agent) => ({ id: agent.name, words: `${agent.name} (${agent.blueprint})` })) ?? [],
    model: known?.models.map((model) => ({ id: model.id, words: model.id })) ?? [],
  };
  return (
    <fieldset class="occasion">
      <legend>{label}</legend>
      {fields.filter((field) => options[field].length > (field === "user" || field === "situation" ? 0 : 1)).map((field) => (
        <Choice key={field} field={field} value={value[field] ?? ""} options={options[field]} choose={(chosen) => change({ ...value, [field]: chosen || undefined })} />
      ))}
    </fieldset>
  );
}

const DEFAULTS = { user: "you", situation: "dm, in private", channel: "any channel", agent: "the first agent", model: "its own model" };

function Choice({ field, value, options, choose }: { field: (typeof FIELDS)[number]; value: string; options: { id: string; words: string }[]; choose: (id: string) => void }) {
  const id = useId();
  const listed = value === "" || options.some((option) => option.id === value);
  return (
    <div class="choice">
      <label for={id}>{field}</label>
      <select id={id} name={field} value={value} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">{DEFAULTS[field]}</option>
        {options.map((option) => <option key={option.id} value={option.id}>{option.words}</option>)}
        {!listed && <option value={value}>{value} (not known here)</option>}
      </select>
    </div>
  );
}
