import type { ViewProps } from "../../shell/App";

export function PromptView(_: ViewProps) {
  return <h1>Prompt</h1>;
}
