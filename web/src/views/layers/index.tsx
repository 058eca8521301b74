import type { ViewProps } from "../../shell/App";

export function LayersView(_: ViewProps) {
  return <h1>Layers</h1>;
}
