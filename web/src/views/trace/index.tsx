// Turns, and where the time and the money of each went.
import type { ViewProps } from "../../shell/App";
import { OneTurn } from "./OneTurn";
import { TurnList } from "./TurnList";
import "./trace.css";

export function TraceView({ place }: ViewProps) {
  const turn = place.rest[0];
  return turn ? <OneTurn key={turn} turn={turn} conversation={place.query.get("conversation")} /> : <TurnList place={place} />;
}
