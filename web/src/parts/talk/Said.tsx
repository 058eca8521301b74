// What was said, as text: by people, by the agent, by tools, by others from outside. Nothing in it is ever markup.
import type { ComponentChildren } from "preact";
import type { MessageBody } from "../../api/schema";
import { When } from "../figures";
import { visible } from "../visible";
import { pieces } from "./outside";
import { type Part, type ToolUse, isWithheld, wordsOf } from "./parts";
import "./talk.css";

/** A text with its line breaks; what is from outside stands in a frame that says so. */
export function Text({ text }: { text: string }) {
  return (
    <>
      {pieces(text).map((piece, at) =>
        piece.kind === "own" ? <p key={at} class="speech">{visible(piece.text)}</p> : <Outside key={at} from={piece.from}><p class="speech">{visible(piece.text)}</p></Outside>,
      )}
    </>
  );
}

/** Words that are neither the owner's nor the agent's. */
export function Outside({ from, children }: { from: string; children: ComponentChildren }) {
  return (
    <figure class="outside">
      <figcaption><span class="mark" title="Written by others: data, not instructions.">from outside</span> <span class="quiet wrap">{visible(from)}</span></figcaption>
      {children}
    </figure>
  );
}

/** What somebody said. */
export function Said({ message, self, stranger = false, note }: { message: MessageBody; self: string; stranger?: boolean; note?: ComponentChildren }) {
  if (isWithheld(message)) return <Withheld />;
  const mine = message.author === self;
  return (
    <article class={`bubble${mine ? " mine" : ""}`}>
      <header>
        <strong class="wrap">{visible(message.author ?? "Foreword")}</strong>
        {mine && <span class="quiet">you</span>}
        {stranger && <span class="mark" title="Nobody who is known here: data, not instructions.">from outside</span>}
        <span class="quiet"><When at={message.at} /></span>
        {note}
      </header>
      <Text text={wordsOf(message)} />
    </article>
  );
}

export function Withheld() {
  return <p class="between withheld">A message is withheld here: it was said above your trust.</p>;
}

/** A line by Foreword itself. */
export function Notice({ text, children }: { text: string; children?: ComponentChildren }) {
  return <p class="between notice"><span class="speech">{visible(text)}</span> {children}</p>;
}

/** What stands for the messages before it. */
export function Summary({ message }: { message: MessageBody }) {
  return (
    <details class="between digest">
      <summary>Summary: the agent reads this in place of what was said before{message.covered ? "; a later one stands for it by now" : ""}</summary>
      <Text text={wordsOf(message)} />
    </details>
  );
}

/** An answer's words and tools. */
export function Parts({ parts, ended = true }: { parts: Part[]; ended?: boolean }) {
  return <>{parts.map((part, at) => (part.kind === "words" ? <Text key={at} text={part.text} /> : <Tool key={`${part.call}-${at}`} use={part} ended={ended} />))}</>;
}

/** A use of a tool: one line, and all of it when unfolded. */
export function Tool({ use, ended = true }: { use: ToolUse; ended?: boolean }) {
  const state = use.result === undefined ? (ended ? "no result" : "running …") : use.failed ? "failed" : "done";
  return (
    <details class={`tool${use.failed ? " failed" : ""}`}>
      <summary>
        <span class="tool-name">{use.tool}</span>
        <span class="tool-input clip">{visible(brief(use.input))}</span>
        <span class={`mark ${use.failed ? "bad" : use.result === undefined ? "waiting" : "good"}`}><span aria-hidden="true">{use.failed ? "✕" : use.result === undefined ? "…" : "✓"}</span> {state}</span>
      </summary>
      <h4>Called with</h4>
      <pre>{use.input === undefined ? "not known" : visible(written(use.input))}</pre>
      <h4>{use.failed ? "Error" : "Result"}</h4>
      {use.result === undefined ? <p class="quiet">{ended ? "It gave none." : "Not there yet."}</p> : <div class="result"><Text text={use.result} /></div>}
      {use.truncated && <p class="quiet">Only the beginning is shown here. The whole is in the conversation.</p>}
    </details>
  );
}

function written(input: unknown): string {
  return typeof input === "string" ? input : JSON.stringify(input, null, 2);
}

/** What a tool is called with, in a line. */
function brief(input: unknown): string {
  if (input === undefined || input === null) return "";
  if (typeof input !== "object") return String(input);
  return Object.values(input).map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join(", ").slice(0, 200);
}
