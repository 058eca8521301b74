// The channels and their connection states.
import type { Status } from "../../api/schema";
import { StateBadge } from "../../parts/badges";
import { count, Timestamp } from "../../parts/format";
import { ScrollContainer } from "../../parts/scroll_container";
import { EmptyState } from "../../parts/states";

export function Channels({ channels }: { channels: NonNullable<Status["channels"]> }) {
  const all = Object.entries(channels).sort(([a], [b]) => a.localeCompare(b));
  if (all.length === 0)
    return (
      <EmptyState title="No recent channels.">
        <p>A channel appears here after its first message.</p>
      </EmptyState>
    );
  return (
    <ScrollContainer label="Channels">
      <table>
        <thead>
          <tr>
            <th scope="col">Channel</th>
            <th scope="col">Last message</th>
            <th scope="col" class="number">
              Errors
            </th>
          </tr>
        </thead>
        <tbody>
          {all.map(([name, channel]) => (
            <tr key={name}>
              <th scope="row" class="name wrap">
                {name}
              </th>
              <td>
                <Timestamp at={channel.last_message} />
              </td>
              <td class="number">
                {channel.errors > 0 && <StateBadge of="error" />} {count(channel.errors)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollContainer>
  );
}
