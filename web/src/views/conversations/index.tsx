// The conversations view: a searchable list, or one conversation.
import type { ViewProps } from "../../shell/App";
import { ConversationDetail } from "./ConversationDetail";
import { ConversationList } from "./ConversationList";
import "./conversations.css";

export function ConversationsView({ route }: ViewProps) {
  const id = route.rest[0];
  return id ? <ConversationDetail key={id} id={id} /> : <ConversationList query={route.query} />;
}
