// The senders view: who writes to the agent from outside, and the messages of each sender.
import type { ViewProps } from "../../shell/App";
import { useSession } from "../../shell/session";
import { OwnMessages } from "./OwnMessages";
import { SenderDetail } from "./SenderDetail";
import { SenderList } from "./SenderList";
import "./senders.css";

export function SendersView({ route }: ViewProps) {
  const session = useSession();
  const sender = route.rest[0];
  if (sender) return <SenderDetail key={sender} sender={sender} />;
  return session.owner && session.scopes.includes("observe") ? <SenderList query={route.query} /> : <OwnMessages />;
}
