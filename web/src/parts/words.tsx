// Words of the server, in which names stand between backticks: shown as code.
import type { ComponentChildren } from "preact";
import { Ticked } from "./ticked";

export function Words({ of }: { of: string }): ComponentChildren {
  return <Ticked words={of} />;
}
