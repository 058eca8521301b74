// What comes over the line about a conversation, as docs/streaming.md has it.
export interface Usage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}

interface Numbered {
  sessionId: string;
  seq: number;
}

interface OfTurn extends Numbered {
  turnId?: string | null;
}

export type Happening =
  | (Numbered & { type: "turn_start"; turnId: string; messages: string[]; user?: string | null; resumed?: boolean })
  | (OfTurn & { type: "text_delta"; text: string })
  | (OfTurn & { type: "tool_call"; callId: string; tool: string; arguments: unknown; truncated?: boolean })
  | (OfTurn & { type: "tool_result"; callId: string; tool: string; content: string; isError: boolean; truncated?: boolean })
  | (OfTurn & { type: "status"; text: string })
  | (OfTurn & { type: "question"; callId: string; tool: string; arguments: unknown; because: string })
  | (OfTurn & { type: "error"; kind: string; message: string })
  | (Numbered & { type: "turn_end"; turnId: string; outcome: Outcome; usage: Usage; cost?: number | null; incomplete?: boolean })
  | (OfTurn & { type: "session_compacted" });

export type Outcome = "done" | "failed" | "cancelled" | "interrupted";

/** The reader was too slow, or away for too long. */
export interface Missed {
  type: "missed";
  sessionId: string;
  from: number;
  to: number;
  catchUp: { by: "replay" } | { by: "messages"; href: string };
}

/** What the server answers to something that was asked. */
export type Reply =
  | { type: "accepted"; sessionId: string; messageId: string; before: boolean }
  | { type: "subscribed"; sessionId: string; after: number; last: number }
  | { type: "unsubscribed" | "cancelling" | "answered"; sessionId: string }
  | { type: "pong" };

export interface Question {
  callId: string;
  tool: string;
  arguments: unknown;
  because: string;
}
