// What the owner has on the desk: the text that is being written, and what was discarded or set aside for another one.
import { inEditor } from "../../parts/drafts";
import { useDiscarded } from "../../parts/discarded";
import { type Draft, type Stored, useDraft } from "../../parts/useDraft";
import { versionText } from "./asks";
import { useSetAside } from "./set_aside";

export interface Work {
  draft: Draft;
  /** Brings back what was discarded, until something else is written. */
  undo: (() => void) | undefined;
  setAside: SetAsideWork | undefined;
  /** Goes on from the text of a version; what was being written is set aside. */
  goOnFrom: (version: number) => Promise<void>;
}

export interface SetAsideWork {
  /** The version that took its place. */
  since: number;
  takeBack: () => void;
  drop: () => void;
}

export function useWork(stored: Stored): Work | undefined {
  const discarded = useDiscarded(useDraft("template", stored));
  const aside = useSetAside("template");
  if (!discarded) return undefined;
  const { draft, undo } = discarded;
  const goOnFrom = async (version: number) => {
    const text = inEditor(await versionText(version));
    aside.lay(draft.dirty ? draft.text : undefined, { version, text });
    draft.change(text);
  };
  const takeBack = () => draft.change(aside.take() ?? draft.text);
  return { draft, undo, setAside: aside.since === undefined ? undefined : { since: aside.since, takeBack, drop: aside.drop }, goOnFrom };
}
