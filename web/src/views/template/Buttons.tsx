// Buttons for everything that can stand in a template. What each is for is told beside them, for fingers too.
import { useEffect, useState } from "preact/hooks";
import { Dialog } from "../../parts/dialog";
import { type Button, type ButtonGroup, fileWords, pathProblem } from "./insertion";

const HINT = "A button puts its words in at the cursor.";

export function Buttons({ groups, put }: { groups: ButtonGroup[]; put: (words: string) => void }) {
  const [told, setTold] = useState<Button>();
  const [asking, setAsking] = useState<Button>();
  const [chosen, setChosen] = useState<string>();
  useEffect(() => {
    // Once the dialog is gone: it gives the focus back to the button, and the editor wants it.
    if (chosen === undefined) return;
    setChosen(undefined);
    put(chosen);
  }, [chosen]);
  const press = (button: Button) => {
    setTold(button);
    if (button.asksPath) setAsking(button);
    else put(button.words);
  };
  return (
    <div class="variables" role="group" aria-label="Insert a variable">
      {groups.map((group) => (
        <div key={group.name} class="kind" role="group" aria-label={group.name}>
          <span class="quiet" aria-hidden="true">{group.name}</span>
          {group.buttons.map((button) => (
            <button key={button.label} title={button.description} aria-label={`${group.name} ${button.label}`} aria-description={button.description}
              onClick={() => press(button)} onFocus={() => setTold(button)} onMouseEnter={() => setTold(button)}>{button.label}</button>
          ))}
        </div>
      ))}
      <p class="quiet told-line">{told ? <><code>{shown(told)}</code> {told.description}</> : HINT}</p>
      {asking && <PathDialog button={asking} close={() => setAsking(undefined)} put={(words) => { setAsking(undefined); setChosen(words); }} />}
    </div>
  );
}

function shown(button: Button): string {
  return button.words.replace("PATH", "…").replace("SELECTED", "").replace(/\$\{[^}]*\}/g, "…");
}

function PathDialog({ button, close, put }: { button: Button; close: () => void; put: (words: string) => void }) {
  const [path, setPath] = useState("");
  const [onlyIfThere, setOnlyIfThere] = useState(false);
  const problem = pathProblem(path);
  const enter = (event: Event) => {
    event.preventDefault();
    if (!problem) put(fileWords(button, path, onlyIfThere));
  };
  return (
    <Dialog title="Which file?" close={close}>
      <form class="stack-of" onSubmit={enter}>
        <label class="field">Path
          <input name="path" value={path} placeholder="AGENTS.md" autoFocus spellcheck={false} autocomplete="off" onInput={(event) => setPath(event.currentTarget.value)} />
        </label>
        <label class="row"><input type="checkbox" checked={onlyIfThere} onChange={(event) => setOnlyIfThere(event.currentTarget.checked)} /> Only if the file is there</label>
        <p class="quiet">{button.description}. Who may not read the file does not get it.</p>
        {path !== "" && problem && <p role="status">{problem}</p>}
        <div class="row"><button class="main" disabled={!!problem}>Insert</button><button type="button" onClick={close}>Cancel</button></div>
      </form>
    </Dialog>
  );
}
