// Somebody was faster: their text beside yours, and what can be done. Yours is kept until you say otherwise.
import type { ComponentChildren } from "preact";
import { Dialog } from "./dialog";
import { Diff } from "./editor/Diff";

export interface OvertakenProps {
  theirs: { version: number; text: string; by: string | null | undefined };
  mine: string;
  /** Stores mine over theirs. */
  saveMine: () => void;
  takeTheirs: () => void;
  keepWriting: () => void;
  busy: boolean;
  /** What else is asked for, such as why. */
  children?: ComponentChildren;
}

export function Overtaken({ theirs, mine, saveMine, takeTheirs, keepWriting, busy, children }: OvertakenProps) {
  const who = theirs.by ?? "Somebody";
  return (
    <Dialog title="Somebody was faster" close={keepWriting} wide>
      <p>{who} stored version {theirs.version} while you were writing. Nothing of yours is lost, and nothing was saved.</p>
      <Diff before={theirs.text} after={mine} labels={[`Theirs: version ${theirs.version}`, "Yours, not saved"]} />
      {children}
      <div class="row">
        <button class="main" onClick={saveMine} disabled={busy}>{busy ? "Saving …" : `Save mine over version ${theirs.version}`}</button>
        <button onClick={keepWriting}>Go on writing</button>
        <button class="danger" onClick={takeTheirs}>Discard mine, take theirs</button>
      </div>
    </Dialog>
  );
}
