// The occasion a prompt is built for: user, situation, channel, agent and model. It is part of the URL, so that links
// can be shared.
import { useEffect, useId } from "preact/hooks";
import { api, unwrap } from "../api/client";
import { type Query, useQuery } from "../api/query";
import type { Occasions } from "../api/schema";
import { ErrorNotice } from "./states";

export type { Occasions };

export interface Occasion {
  user?: string;
  channel?: string;
  situation?: string;
  agent?: string;
  model?: string;
}

let loaded: Promise<Occasions> | undefined;

/** Loaded once for the whole page. */
async function occasions(): Promise<Occasions> {
  loaded ??= unwrap(api.GET("/api/v1/occasions"));
  loaded.catch(() => (loaded = undefined));
  return loaded;
}

const subscribers = new Set<() => void>();

/** A retry reloads every subscriber, so that all pickers show the same list. */
export function useOccasions(): Query<Occasions> {
  const query = useQuery("occasions", occasions);
  useEffect(() => {
    subscribers.add(query.reload);
    return () => void subscribers.delete(query.reload);
  }, []);
  return { ...query, reload: reloadAll };
}

function reloadAll(): void {
  for (const reload of subscribers) reload();
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

/** Form fields for an occasion, with the values this server knows. */
export function OccasionPicker({
  value,
  change,
  label,
  fields = FIELDS,
}: {
  value: Occasion;
  change: (occasion: Occasion) => void;
  label: string;
  fields?: readonly (typeof FIELDS)[number][];
}) {
  const { value: loaded, error, reload } = useOccasions();
  if (!loaded && error) return <ErrorNotice error={error} reload={reload} />;
  const options: Record<(typeof FIELDS)[number], { id: string; words: string }[]> = {
    user: loaded?.users.map((user) => ({ id: user.name, words: `${user.name} (${user.trust})` })) ?? [],
    situation: loaded?.situations.map((one) => ({ id: one.name, words: `${one.name} (at most ${one.ceiling})` })) ?? [],
    channel: loaded?.channels.map((id) => ({ id, words: id })) ?? [],
    agent: loaded?.agents.map((agent) => ({ id: agent.name, words: `${agent.name} (${agent.blueprint})` })) ?? [],
    model: loaded?.models.map((model) => ({ id: model.id, words: model.id })) ?? [],
  };
  return (
    <fieldset class="occasion">
      <legend>{label}</legend>
      {fields
        .filter((field) => options[field].length > (field === "user" || field === "situation" ? 0 : 1))
        .map((field) => (
          <Choice
            key={field}
            field={field}
            value={value[field] ?? ""}
            options={options[field]}
            choose={(chosen) => change({ ...value, [field]: chosen || undefined })}
          />
        ))}
    </fieldset>
  );
}

const DEFAULTS = {
  user: "you",
  situation: "dm, in private",
  channel: "any channel",
  agent: "default agent",
  model: "the agent's model",
};

function Choice({
  field,
  value,
  options,
  choose,
}: {
  field: (typeof FIELDS)[number];
  value: string;
  options: { id: string; words: string }[];
  choose: (id: string) => void;
}) {
  const id = useId();
  const listed = value === "" || options.some((option) => option.id === value);
  return (
    <div class="choice">
      <label for={id}>{field}</label>
      <select id={id} name={field} value={value} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">{DEFAULTS[field]}</option>
        {options.map((option) => (
          <option key={option.id} value={option.id}>
            {option.words}
          </option>
        ))}
        {!listed && <option value={value}>{value} (unknown)</option>}
      </select>
    </div>
  );
}
