// Whether the window is narrow, as component state.
import { useEffect, useState } from "preact/hooks";

/** Only one column fits. */
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
