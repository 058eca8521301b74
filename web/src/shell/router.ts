// Where on the page we are: the part of the address behind `#`, so that every view has an address and the server needs none.
import { useEffect, useState } from "preact/hooks";

export interface Place {
  /** The view, such as `trace`. */
  view: string;
  /** What else the path says, such as a turn's id. */
  rest: string[];
  query: URLSearchParams;
}

export function placeOf(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [view = "", ...rest] = path.split("/").map(decoded);
  return { view: view || "prompt", rest: rest.filter((part) => part !== ""), query: new URLSearchParams(query) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** An address on this page, for links. */
export function href(view: string, rest: string[] = [], query: Record<string, string | undefined | null> = {}): string {
  const path = [view, ...rest].map(encodeURIComponent).join("/");
  const given = Object.entries(query).filter((entry): entry is [string, string] => !!entry[1]);
  const asked = new URLSearchParams(given).toString();
  return `#/${path}${asked ? `?${asked}` : ""}`;
}

export function go(to: string, how: "push" | "replace" = "push"): void {
  if (how === "push") location.hash = to;
  else {
    history.replaceState(history.state, "", to);
    dispatchEvent(new HashChangeEvent("hashchange"));
  }
}

let entries = 0;

/** The name of the place in the browser's history: the same again whenever somebody goes back to it, another one for each new visit. */
export function entry(): string {
  const state = history.state as { entry?: string } | null;
  if (state?.entry) return state.entry;
  const name = `${Date.now().toString(36)}-${(entries += 1)}`;
  history.replaceState({ entry: name }, "");
  return name;
}

export function usePlace(): Place {
  const [seen] = useState(() => location.hash);
  const [place, setPlace] = useState(() => placeOf(seen));
  useEffect(() => {
    const moved = () => setPlace(placeOf(location.hash));
    addEventListener("hashchange", moved);
    // Whoever went on before anybody listened.
    if (location.hash !== seen) moved();
    return () => removeEventListener("hashchange", moved);
  }, []);
  return place;
}
