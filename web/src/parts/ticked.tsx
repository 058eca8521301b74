// The server's words, in which names stand between backticks: `like this`.
import { visible } from "./visible";

export function Ticked({ words }: { words: string }) {
  return <>{visible(words).split("`").map((part, at, parts) => (at % 2 === 1 && at < parts.length - 1 ? <code key={at} class="wrap">{part}</code> : at % 2 === 1 ? `\`${part}` : part))}</>;
}
