// Hash routing: every view has its own URL, and the server needs no routes for them.
import { useEffect, useState } from "preact/hooks";

export interface Route {
  /** The view, such as `trace`. */
  view: string;
  /** The further path segments, such as a turn id. */
  rest: string[];
  query: URLSearchParams;
}

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [view = "", ...rest] = path.split("/").map(decode);
  return { view: view || "prompt", rest: rest.filter((part) => part !== ""), query: new URLSearchParams(query) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Builds a URL within the page. */
export function href(view: string, rest: string[] = [], query: Record<string, string | undefined | null> = {}): string {
  const path = [view, ...rest].map(encodeURIComponent).join("/");
  const present = Object.entries(query).filter((entry): entry is [string, string] => !!entry[1]);
  const search = new URLSearchParams(present).toString();
  return `#/${path}${search ? `?${search}` : ""}`;
}

export function navigate(to: string, how: "push" | "replace" = "push"): void {
  if (how === "push") location.hash = to;
  else {
    history.replaceState(history.state, "", to);
    dispatchEvent(new HashChangeEvent("hashchange"));
  }
}

let entries = 0;

/** The id of the current history entry: stable when the user navigates back, new for each visit. */
export function entry(): string {
  const state = history.state as { entry?: string } | null;
  if (state?.entry) return state.entry;
  const name = `${Date.now().toString(36)}-${(entries += 1)}`;
  history.replaceState({ entry: name }, "");
  return name;
}

export function useRoute(): Route {
  const [seen] = useState(() => location.hash);
  const [place, setPlace] = useState(() => parseRoute(seen));
  useEffect(() => {
    const onHashChange = () => setPlace(parseRoute(location.hash));
    addEventListener("hashchange", onHashChange);
    // The hash changed before the listener was added.
    if (location.hash !== seen) onHashChange();
    return () => removeEventListener("hashchange", onHashChange);
  }, []);
  return place;
}
