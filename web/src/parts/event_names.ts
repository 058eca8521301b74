// Display names of event types.
const NAMES: Record<string, string> = {
  message_received: "Message received",
  message_sent: "Answer sent",
  message_queued: "Message queued",
  turn: "Turn",
  trust_resolved: "Trust",
  prompt_built: "Prompt",
  api_call: "Model answered",
  api_error: "Call failed",
  wait: "Retry delay",
  provider_rate_limit: "Rate limit",
  cache_miss: "Cache miss",
  tool_call: "Tool",
  tool_error: "Tool failed",
  tool_blocked: "Tool blocked",
  tool_timeout: "Tool timed out",
  tool_output_truncated: "Tool output truncated",
  memory_search: "Memory searched",
  memory_write: "Memory written",
  session_created: "Conversation created",
  session_compacted: "History compacted",
  compaction_failed: "Compaction failed",
  handed_over: "Handed over",
  budget_warning: "Budget nearly used up",
  budget_exceeded: "Budget used up",
};

/** The display name of an event type. The fields of a trace show the type itself. */
export function eventName(type: string): string {
  return NAMES[type] ?? sentenceCase(type);
}

function sentenceCase(word: string): string {
  const words = word.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
