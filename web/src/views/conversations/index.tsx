import type { ViewProps } from "../../shell/App";

export function ConversationsView(_: ViewProps) {
  return <h1>Conversations</h1>;
}
