// Conversations: all of them, searchable, or one in full.
import type { ViewProps } from "../../shell/App";
import { List } from "./List";
import { One } from "./One";
import "./conversations.css";

export function ConversationsView({ place }: ViewProps) {
  const id = place.rest[0];
  return id ? <One key={id} id={id} /> : <List query={place.query} />;
}
