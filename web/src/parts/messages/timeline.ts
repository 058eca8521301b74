// Merges history and stream into the list of entries a conversation shows: each message, followed by the turn that
// answers it. For a finished turn the history takes precedence, because it is complete.
import type { MessageBody } from "../../api/schema";
import { type Part, partsOf, textOf } from "./parts";
import type { ConversationState, Turn } from "./reducer";

export type Entry =
  | { kind: "message"; key: string; message: MessageBody }
  | { kind: "summary"; key: string; message: MessageBody }
  | {
      kind: "turn";
      key: string;
      turn: string | null;
      author: string | null;
      parts: Part[];
      notices: string[];
      withheld: boolean;
      at: string | null;
      live: Turn | undefined;
    };

interface Group {
  said: MessageBody[];
  answer: MessageBody[];
}

export function timeline({ messages, turns, since }: Pick<ConversationState, "messages" | "turns" | "since">): Entry[] {
  const groups = new Map<string, Group | MessageBody>();
  for (const message of messages) {
    if (message.kind === "summary") {
      groups.set(`summary ${message.id}`, message);
      continue;
    }
    const key = message.turn ?? `message ${message.id}`;
    const group = (groups.get(key) as Group | undefined) ?? { said: [], answer: [] };
    (message.role === "user" ? group.said : group.answer).push(message);
    groups.set(key, group);
  }
  const told = new Map(turns.map((turn) => [turn.id, turn]));
  const entries = [...groups].flatMap(([key, group]) =>
    "said" in group ? entriesOf(key, group, told.get(key)) : [summary(group)],
  );
  // Turns that ended before the stream was joined are on an earlier page of the history.
  const rest = turns.filter((turn) => !groups.has(turn.id) && (turn.ended === undefined || turn.ended > since));
  return [...entries, ...rest.map((turn) => answer(turn.id, turn.id, [], turn))];
}

function summary(message: MessageBody): Entry {
  return { kind: "summary", key: message.id, message };
}

function entriesOf(key: string, { said, answer: answered }: Group, live: Turn | undefined): Entry[] {
  const entries: Entry[] = said.map((message) => ({ kind: "message", key: message.id, message }));
  if (answered.length > 0 || live) entries.push(answer(key, answered[0]?.turn ?? live?.id ?? null, answered, live));
  return entries;
}

function answer(key: string, turn: string | null, messages: MessageBody[], live: Turn | undefined): Entry {
  const words = messages.filter((message) => message.kind !== "notice");
  const spoken = words.find((message) => message.role === "assistant");
  const withheld = turn === null && messages.some((message) => message.id.startsWith("withheld-"));
  return {
    kind: "turn",
    key: `answer ${key}`,
    turn,
    author: spoken?.author ?? null,
    parts: (messages.length > 0 && live?.outcome !== undefined) || !live ? partsOf(words) : live.parts,
    notices: messages.filter((message) => message.kind === "notice").map(textOf),
    withheld,
    at: messages.at(-1)?.at ?? null,
    live,
  };
}
