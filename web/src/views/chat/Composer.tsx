// Where one writes. Enter sends, Shift-Enter begins a new line; what is half written is kept for the tab.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { halfWritten, keepHalfWritten } from "./half_written";

export function Composer({ place, send, running, stop, stopping, disabled, children }: {
  /** Where what is written belongs; each place keeps its own draft. */
  place: string;
  send: (text: string) => void;
  running: boolean;
  stop: () => void;
  stopping: boolean;
  disabled?: boolean;
  children?: ComponentChildren;
}) {
  const [text, setText] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => setText(halfWritten(place)), [place]);
  const write = (text: string) => {
    setText(text);
    keepHalfWritten(place, text);
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (text.trim() === "" || disabled) return;
    send(text.trim());
    write("");
    field.current?.focus();
  };
  const pressed = (event: KeyboardEvent) => {
    // Whoever writes Japanese or Chinese ends a word with Enter.
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
  };
  return (
    <form class="composer" onSubmit={submit}>
      {children}
      <div class="composer-row">
        <textarea ref={field} aria-label="Message" aria-describedby="composer-keys" placeholder="Write a message" rows={2} value={text} disabled={disabled} maxLength={200_000}
          onInput={(event) => write(event.currentTarget.value)} onKeyDown={pressed} />
        <div class="composer-buttons">
          <button class="main" disabled={disabled || text.trim() === ""}>Send</button>
          {running && <button type="button" onClick={() => { stop(); field.current?.focus(); }} disabled={stopping}>{stopping ? "Stopping …" : "Stop"}</button>}
        </div>
      </div>
      <p id="composer-keys" class="composer-keys quiet"><kbd>Enter</kbd> sends, <kbd>Shift</kbd> <kbd>Enter</kbd> is a new line{running ? <>, <kbd>Esc</kbd> stops the answer</> : null}.</p>
    </form>
  );
}
