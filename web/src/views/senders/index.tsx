// Who writes to the agent from outside, and what was said with each of them.
import type { ViewProps } from "../../shell/App";
import { useSession } from "../../shell/session";
import { List } from "./List";
import { One } from "./One";
import { Own } from "./Own";
import "./senders.css";

export function SendersView({ place }: ViewProps) {
  const session = useSession();
  const sender = place.rest[0];
  if (sender) return <One key={sender} sender={sender} />;
  return session.owner && session.scopes.includes("observe") ? <List query={place.query} /> : <Own />;
}
