import type { ViewProps } from "../../shell/App";

export function SendersView(_: ViewProps) {
  return <h1>Senders</h1>;
}
