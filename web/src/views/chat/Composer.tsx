// The message field. Enter sends, Shift-Enter inserts a line break; the draft is kept for the tab.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { readDraft, saveDraft } from "./composer_drafts";

export function Composer({
  draftKey,
  send,
  runningTurn,
  stop,
  stopping,
  disabled,
  children,
}: {
  /** The storage key of the draft. */
  draftKey: string;
  send: (text: string) => void;
  runningTurn: boolean;
  stop: () => void;
  stopping: boolean;
  disabled?: boolean;
  children?: ComponentChildren;
}) {
  const [text, setText] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => setText(readDraft(draftKey)), [draftKey]);
  const write = (text: string) => {
    setText(text);
    saveDraft(draftKey, text);
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (text.trim() === "" || disabled) return;
    send(text.trim());
    write("");
    field.current?.focus();
  };
  const pressed = (event: KeyboardEvent) => {
    // Input methods for Japanese and Chinese use Enter to confirm a word.
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
  };
  return (
    <form class="composer" onSubmit={submit}>
      {children}
      <div class="composer-row">
        <textarea
          ref={field}
          aria-label="Message"
          aria-describedby="composer-keys"
          placeholder="Write a message"
          rows={2}
          value={text}
          disabled={disabled}
          maxLength={200_000}
          onInput={(event) => write(event.currentTarget.value)}
          onKeyDown={pressed}
        />
        <div class="composer-buttons">
          <button type="submit" class="main" disabled={disabled || text.trim() === ""}>
            Send
          </button>
          {runningTurn && (
            <button
              type="button"
              onClick={() => {
                stop();
                field.current?.focus();
              }}
              disabled={stopping}
            >
              {stopping ? "Stopping …" : "Stop"}
            </button>
          )}
        </div>
      </div>
      <p id="composer-keys" class="composer-keys quiet">
        <kbd>Enter</kbd> sends, <kbd>Shift</kbd> <kbd>Enter</kbd> inserts a line break
        {runningTurn ? (
          <>
            , <kbd>Esc</kbd> stops the answer
          </>
        ) : null}
        .
      </p>
    </form>
  );
}
