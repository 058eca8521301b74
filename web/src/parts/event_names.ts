// What the types of events are called on the page.
const NAMES: Record<string, string> = {
  message_received: "Message received", message_sent: "Answer sent", message_queued: "Message queued", turn: "Turn",
  trust_resolved: "Trust", prompt_built: "Prompt", api_call: "Model answered", api_error: "Call failed", wait: "Wait before the next try",
  provider_rate_limit: "Rate limit", cache_miss: "Cache missed", tool_call: "Tool", tool_error: "Tool failed", tool_blocked: "Tool not run",
  tool_timeout: "Tool took too long", tool_output_truncated: "Tool output cut", memory_search: "Memory searched", memory_write: "Memory written",
  session_created: "Conversation began", session_compacted: "History summed up", compaction_failed: "Summary failed", handed_over: "Handed over",
  budget_warning: "Budget nearly used up", budget_exceeded: "Budget used up",
};

/** What a type of event is called; its own word is among the fields of a trace. */
export function eventName(type: string): string {
  return NAMES[type] ?? sentenceCase(type);
}

function sentenceCase(word: string): string {
  const words = word.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
