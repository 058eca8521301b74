// Words of the server, in which names stand between backticks: shown as code.
import type { ComponentChildren } from "preact";

export function Words({ of }: { of: string }): ComponentChildren {
  return of.split("`").map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part));
}
