// The kinds of work a span can be.
export type Kind = "whole" | "model" | "failed" | "wait" | "tool" | "prepare" | "note";

const KINDS: Record<string, Kind> = {
  turn: "whole",
  message_received: "whole",
  api_call: "model",
  api_error: "failed",
  wait: "wait",
  provider_rate_limit: "note",
  cache_miss: "note",
  tool_call: "tool",
  tool_error: "tool",
  tool_blocked: "tool",
  tool_timeout: "tool",
  memory_search: "tool",
  memory_write: "tool",
  trust_resolved: "prepare",
  prompt_built: "prepare",
  session_compacted: "prepare",
  compaction_failed: "prepare",
};

export function kindOf(name: string): Kind {
  return KINDS[name] ?? "note";
}
