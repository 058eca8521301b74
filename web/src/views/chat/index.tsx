import type { ViewProps } from "../../shell/App";

export function ChatView(_: ViewProps) {
  return <h1>Chat</h1>;
}
