// What kind of work a span is, and what it is called on the page.
export type Kind = "whole" | "model" | "failed" | "wait" | "tool" | "prepare" | "note";

const KINDS: Record<string, Kind> = {
  turn: "whole", message_received: "whole",
  api_call: "model", api_error: "failed", wait: "wait", provider_rate_limit: "note", cache_miss: "note",
  tool_call: "tool", tool_error: "tool", tool_blocked: "tool", tool_timeout: "tool", memory_search: "tool", memory_write: "tool",
  trust_resolved: "prepare", prompt_built: "prepare", session_compacted: "prepare", compaction_failed: "prepare",
};

export function kindOf(name: string): Kind {
  return KINDS[name] ?? "note";
}

const NAMES: Record<string, string> = {
  message_received: "Message received", message_sent: "Answer sent", message_queued: "Message queued", turn: "Turn",
  trust_resolved: "Trust", prompt_built: "Prompt", api_call: "Model answered", api_error: "Call failed", wait: "Wait before the next try",
  provider_rate_limit: "Rate limit", cache_miss: "Cache missed", tool_call: "Tool", tool_error: "Tool failed", tool_blocked: "Tool not run",
  tool_timeout: "Tool took too long", tool_output_truncated: "Tool output cut", memory_search: "Memory searched", memory_write: "Memory written",
  session_created: "Conversation began", session_compacted: "History summed up", compaction_failed: "Summary failed", handed_over: "Handed over",
  budget_warning: "Budget nearly used up", budget_exceeded: "Budget used up",
};

/** What a type of event is called in the table; its own word is among its fields. */
export function nameOf(type: string): string {
  return NAMES[type] ?? sentenceCase(type);
}

function sentenceCase(word: string): string {
  const words = word.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
