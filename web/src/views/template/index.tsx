import type { ViewProps } from "../../shell/App";

export function TemplateView(_: ViewProps) {
  return <h1>Template</h1>;
}
