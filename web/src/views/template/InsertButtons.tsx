// Buttons that insert template syntax. Help text next to them also works on touch screens.
import { useEffect, useState } from "preact/hooks";
import { Dialog } from "../../parts/dialog";
import { type Button, type ButtonGroup, fileTag, pathProblem } from "./insert_buttons";

const HINT = "Buttons insert at the cursor.";

export function InsertButtons({ groups, put }: { groups: ButtonGroup[]; put: (words: string) => void }) {
  const [told, setTold] = useState<Button>();
  const [pathFor, setPathFor] = useState<Button>();
  const [chosen, setChosen] = useState<string>();
  useEffect(() => {
    // Wait until the dialog is closed: it returns the focus to the button, and the editor needs it.
    if (chosen === undefined) return;
    setChosen(undefined);
    put(chosen);
  }, [chosen]);
  const press = (button: Button) => {
    setTold(button);
    if (button.asksPath) setPathFor(button);
    else put(button.words);
  };
  return (
    <div class="variables" role="group" aria-label="Insert a variable">
      {groups.map((group) => (
        <div key={group.name} class="kind" role="group" aria-label={group.name}>
          <span class="quiet" aria-hidden="true">
            {group.name}
          </span>
          {group.buttons.map((button) => (
            <button
              type="button"
              key={button.label}
              title={button.description}
              aria-label={`${group.name} ${button.label}`}
              aria-description={button.description}
              onClick={() => press(button)}
              onFocus={() => setTold(button)}
              onMouseEnter={() => setTold(button)}
            >
              {button.label}
            </button>
          ))}
        </div>
      ))}
      <p class="quiet notice-line">
        {told ? (
          <>
            <code>{shown(told)}</code> {told.description}
          </>
        ) : (
          HINT
        )}
      </p>
      {pathFor && (
        <PathDialog
          button={pathFor}
          close={() => setPathFor(undefined)}
          put={(words) => {
            setPathFor(undefined);
            setChosen(words);
          }}
        />
      )}
    </div>
  );
}

function shown(button: Button): string {
  return button.words
    .replace("PATH", "…")
    .replace("SELECTED", "")
    .replace(/\$\{[^}]*\}/g, "…");
}

function PathDialog({ button, close, put }: { button: Button; close: () => void; put: (words: string) => void }) {
  const [path, setPath] = useState("");
  const [onlyIfThere, setOnlyIfThere] = useState(false);
  const problem = pathProblem(path);
  const enter = (event: Event) => {
    event.preventDefault();
    if (!problem) put(fileTag(button, path, onlyIfThere));
  };
  return (
    <Dialog title="Which file?" close={close}>
      <form class="vertical-stack" onSubmit={enter}>
        <label class="field">
          Path
          <input
            name="path"
            value={path}
            placeholder="AGENTS.md"
            autoFocus
            spellcheck={false}
            autocomplete="off"
            onInput={(event) => setPath(event.currentTarget.value)}
          />
        </label>
        <label class="row">
          <input
            type="checkbox"
            checked={onlyIfThere}
            onChange={(event) => setOnlyIfThere(event.currentTarget.checked)}
          />{" "}
          Only if the file exists
        </label>
        <p class="quiet">{button.description}. Users without access to the file do not receive it.</p>
        {path !== "" && problem && <p role="status">{problem}</p>}
        <div class="row">
          <button type="submit" class="main" disabled={!!problem}>
            Insert
          </button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}
