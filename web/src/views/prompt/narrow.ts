// Whether the window is narrow, and when that changes.
import { useEffect, useState } from "preact/hooks";

/** There is room for one column only. */
export const ONE_COLUMN = "(max-width: 64rem)";
/** A phone. */
export const PHONE = "(max-width: 50rem)";

export function useMedia(words: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(words).matches);
  useEffect(() => {
    const query = matchMedia(words);
    const changed = () => setMatches(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, [words]);
  return matches;
}
