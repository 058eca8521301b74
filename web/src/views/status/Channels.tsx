// Where messages come from and go to, and whether that works.
import type { Status } from "../../api/schema";
import { When, count } from "../../parts/figures";
import { State } from "../../parts/marks";
import { Scrolled } from "../../parts/scrolled";
import { Empty } from "../../parts/told";

export function Channels({ channels }: { channels: NonNullable<Status["channels"]> }) {
  const all = Object.entries(channels).sort(([a], [b]) => a.localeCompare(b));
  if (all.length === 0) return <Empty title="No channel was used lately."><p>A message from anywhere, such as the chat of this page, puts its channel here.</p></Empty>;
  return (
    <Scrolled label="Channels">
      <table>
        <thead><tr><th scope="col">Channel</th><th scope="col">Last message</th><th scope="col" class="number">Errors</th></tr></thead>
        <tbody>{all.map(([name, channel]) => (
          <tr key={name}><th scope="row" class="name wrap">{name}</th><td><When at={channel.last_message} /></td><td class="number">{channel.errors > 0 && <State of="error" />} {count(channel.errors)}</td></tr>
        ))}</tbody>
      </table>
    </Scrolled>
  );
}
