// Messages, tool calls and untrusted text, always rendered as plain text and never as markup.
import type { ComponentChildren } from "preact";
import type { MessageBody } from "../../api/schema";
import { showBidiControls } from "../bidi";
import { Timestamp } from "../format";
import { isWithheldMessage, type Part, type ToolUse, textOf } from "./parts";
import { splitUntrusted } from "./untrusted";
import "./messages.css";

/** Text with line breaks. Untrusted passages get a labelled frame. */
export function MessageText({ text }: { text: string }) {
  return (
    <>
      {splitUntrusted(text).map((piece, at) =>
        piece.kind === "trusted" ? (
          <p key={at} class="message-text">
            {showBidiControls(piece.text)}
          </p>
        ) : (
          <UntrustedText key={at} from={piece.from}>
            <p class="message-text">{showBidiControls(piece.text)}</p>
          </UntrustedText>
        ),
      )}
    </>
  );
}

/** Text written by neither the owner nor the agent. */
export function UntrustedText({ from, children }: { from: string; children: ComponentChildren }) {
  return (
    <figure class="outside">
      <figcaption>
        <span class="badge" title="Untrusted: data, not instructions.">
          from outside
        </span>{" "}
        <span class="quiet wrap">{showBidiControls(from)}</span>
      </figcaption>
      {children}
    </figure>
  );
}

/** A message from a person. */
export function Message({
  message,
  self,
  untrusted = false,
  note,
}: {
  message: MessageBody;
  self: string;
  untrusted?: boolean;
  note?: ComponentChildren;
}) {
  if (isWithheldMessage(message)) return <WithheldMessage />;
  const own = message.author === self;
  return (
    <article class={`bubble${own ? " mine" : ""}`}>
      <header>
        <strong class="wrap">{showBidiControls(message.author ?? "Foreword")}</strong>
        {own && <span class="quiet">you</span>}
        {untrusted && (
          <span class="badge" title="Unknown sender: data, not instructions.">
            from outside
          </span>
        )}
        <span class="quiet">
          <Timestamp at={message.at} />
        </span>
        {note}
      </header>
      <MessageText text={textOf(message)} />
    </article>
  );
}

export function WithheldMessage() {
  return <p class="separator-message withheld">Message withheld: it requires more trust than you have.</p>;
}

/** A notice from Foreword itself. */
export function Notice({ text, children }: { text: string; children?: ComponentChildren }) {
  return (
    <p class="separator-message notice">
      <span class="message-text">{showBidiControls(text)}</span> {children}
    </p>
  );
}

/** The summary that replaces earlier messages in the prompt. */
export function Summary({ message }: { message: MessageBody }) {
  return (
    <details class="separator-message digest">
      <summary>
        Summary: the agent reads this instead of the earlier messages
        {message.covered ? "; replaced by a later summary" : ""}
      </summary>
      <MessageText text={textOf(message)} />
    </details>
  );
}

/** The text and the tool calls of an answer. */
export function Parts({ parts, ended = true }: { parts: Part[]; ended?: boolean }) {
  return (
    <>
      {parts.map((part, at) =>
        part.kind === "text" ? (
          <MessageText key={at} text={part.text} />
        ) : (
          <ToolCall key={`${part.call}-${at}`} use={part} ended={ended} />
        ),
      )}
    </>
  );
}

/** A tool call: one line, with details on demand. */
export function ToolCall({ use, ended = true }: { use: ToolUse; ended?: boolean }) {
  const state = use.result === undefined ? (ended ? "no result" : "running …") : use.failed ? "failed" : "done";
  return (
    <details class={`tool${use.failed ? " failed" : ""}`}>
      <summary>
        <span class="tool-name">{use.tool}</span>
        <span class="tool-input clip">{showBidiControls(inputSummary(use.input))}</span>
        <span class={`badge ${use.failed ? "bad" : use.result === undefined ? "waiting" : "good"}`}>
          <span aria-hidden="true">{use.failed ? "✕" : use.result === undefined ? "…" : "✓"}</span> {state}
        </span>
      </summary>
      <h4>Arguments</h4>
      <pre>{use.input === undefined ? "unknown" : showBidiControls(formatInput(use.input))}</pre>
      <h4>{use.failed ? "Error" : "Result"}</h4>
      {use.result === undefined ? (
        <p class="quiet">{ended ? "No result." : "No result yet."}</p>
      ) : (
        <div class="result">
          <MessageText text={use.result} />
        </div>
      )}
      {use.truncated && <p class="quiet">Truncated. The conversation has the whole text.</p>}
    </details>
  );
}

function formatInput(input: unknown): string {
  return typeof input === "string" ? input : JSON.stringify(input, null, 2);
}

/** The arguments of a tool call in one line. */
function inputSummary(input: unknown): string {
  if (input === undefined || input === null) return "";
  if (typeof input !== "object") return String(input);
  return Object.values(input)
    .map((value) => (typeof value === "string" ? value : JSON.stringify(value)))
    .join(", ")
    .slice(0, 200);
}
