import type { ViewProps } from "../../shell/App";

export function CostsView(_: ViewProps) {
  return <h1>Costs</h1>;
}
