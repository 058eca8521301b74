// The parts of an answer, the same for the stream and the history: text and tool calls.
import type { MessageBody } from "../../api/schema";

export type Part = TextPart | ToolUse;

export interface TextPart {
  kind: "text";
  text: string;
}

export interface ToolUse {
  kind: "tool";
  call: string;
  tool: string;
  input: unknown;
  /** The result; undefined while the call runs. */
  result?: string;
  failed?: boolean;
  /** Whether the stream truncated it; the history has the whole text. */
  truncated?: boolean;
}

/** The placeholder the server sends for a message above the reader's trust. */
const WITHHELD = "[A message of this conversation is withheld here.]";

export function isWithheldMessage(message: MessageBody): boolean {
  return message.id.startsWith("withheld-") && textOf(message) === WITHHELD;
}

export function textOf(message: MessageBody): string {
  return message.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n\n");
}

/** The parts of an answer's messages, in order, with results attached to their calls. */
export function partsOf(messages: MessageBody[]): Part[] {
  const parts: Part[] = [];
  for (const block of messages.flatMap((message) => message.content)) {
    if (block.type === "text") parts.push({ kind: "text", text: block.text });
    else if (block.type === "tool_call")
      parts.push({ kind: "tool", call: block.id, tool: block.name, input: block.input });
    else attachResult(parts, block.call, { result: block.content, failed: block.is_error });
  }
  return parts;
}

/** Attaches a result to the last call with that id that has none. Models may reuse call ids in every answer. */
export function attachResult(
  parts: Part[],
  call: string,
  result: Pick<ToolUse, "result" | "failed" | "truncated">,
  tool = "a tool",
): void {
  const at = parts.findLastIndex((part) => part.kind === "tool" && part.call === call && part.result === undefined);
  const waiting = parts[at];
  if (waiting?.kind === "tool") parts[at] = { ...waiting, ...result, truncated: waiting.truncated || result.truncated };
  else parts.push({ kind: "tool", call, tool, input: undefined, ...result });
}
