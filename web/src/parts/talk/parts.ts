// What an answer is made of, the same whether it is streamed or read from the history: words, and uses of tools.
import type { MessageBody } from "../../api/schema";

export type Part = Words | ToolUse;

export interface Words {
  kind: "words";
  text: string;
}

export interface ToolUse {
  kind: "tool";
  call: string;
  tool: string;
  input: unknown;
  /** What it gave; undefined as long as it has not. */
  result?: string;
  failed?: boolean;
  /** Whether the stream has left something out; the history has all of it. */
  truncated?: boolean;
}

/** The line that stands for a message above the reader's trust. */
const WITHHELD = "[A message of this conversation is withheld here.]";

export function isWithheld(message: MessageBody): boolean {
  return message.id.startsWith("withheld-") && wordsOf(message) === WITHHELD;
}

export function wordsOf(message: MessageBody): string {
  return message.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n\n");
}

/** The parts that messages of an answer say, in order; results stand with their calls. */
export function partsOf(messages: MessageBody[]): Part[] {
  const parts: Part[] = [];
  for (const block of messages.flatMap((message) => message.content)) {
    if (block.type === "text") parts.push({ kind: "words", text: block.text });
    else if (block.type === "tool_call") parts.push({ kind: "tool", call: block.id, tool: block.name, input: block.input });
    else gave(parts, block.call, { result: block.content, failed: block.is_error });
  }
  return parts;
}

/** Puts a result where its call is: the last one of that id that has none. Models may number their calls anew in every answer. */
export function gave(parts: Part[], call: string, result: Pick<ToolUse, "result" | "failed" | "truncated">, tool = "a tool"): void {
  const at = parts.findLastIndex((part) => part.kind === "tool" && part.call === call && part.result === undefined);
  const waiting = parts[at];
  if (waiting?.kind === "tool") parts[at] = { ...waiting, ...result, truncated: waiting.truncated || result.truncated };
  else parts.push({ kind: "tool", call, tool, input: undefined, ...result });
}
