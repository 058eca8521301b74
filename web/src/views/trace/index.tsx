import type { ViewProps } from "../../shell/App";

export function TraceView(_: ViewProps) {
  return <h1>Trace</h1>;
}
