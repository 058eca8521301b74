// Which conversation's epochs: one of the recent ones, or the one in the address.
import { useId } from "preact/hooks";
import { href } from "../../shell/router";

interface Choice {
  id: string;
  title?: string | null;
  user?: string | null;
  agent?: string | null;
}

export function ConversationChoice({ items, chosen, choose }: { items: Choice[]; chosen: string; choose: (id: string) => void }) {
  const id = useId();
  const listed = items.some((item) => item.id === chosen);
  return (
    <div class="row conversation-choice">
      <div class="choice">
        <label for={id}>Conversation</label>
        <select id={id} value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
          {!listed && <option value={chosen}>{chosen}</option>}
          {items.map((item) => <option key={item.id} value={item.id}>{words(item)}</option>)}
        </select>
      </div>
      <a href={href("conversations", [chosen])}>Read it</a>
    </div>
  );
}

function words(item: Choice): string {
  const who = [item.user, item.agent].filter(Boolean).join(", ");
  return `${item.title ?? item.id}${who ? ` (${who})` : ""}`;
}
