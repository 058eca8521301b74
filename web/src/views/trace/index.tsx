// The trace view: the list of turns, or one turn.
import type { ViewProps } from "../../shell/App";
import { TurnDetail } from "./TurnDetail";
import { TurnList } from "./TurnList";
import "./trace.css";

export function TraceView({ route }: ViewProps) {
  const turn = route.rest[0];
  return turn ? (
    <TurnDetail key={turn} turn={turn} conversation={route.query.get("conversation")} />
  ) : (
    <TurnList route={route} />
  );
}
