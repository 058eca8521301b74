import type { ViewProps } from "../../shell/App";

export function StatusView(_: ViewProps) {
  return <h1>Status</h1>;
}
