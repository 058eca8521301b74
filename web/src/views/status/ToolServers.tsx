// MCP servers and their tools.
import type { ToolServerStatus } from "../../api/schema";
import { CodeText } from "../../parts/code_text";
import { EmptyState } from "../../parts/states";

export function ToolServers({ servers }: { servers: ToolServerStatus[] }) {
  if (servers.length === 0)
    return (
      <EmptyState title="No tool servers.">
        <p>
          Section <code>tools.servers</code> of foreword.yaml names MCP servers whose tools the agent may use.
        </p>
      </EmptyState>
    );
  return (
    <ul class="card plain-list">
      {servers.map((server) => (
        <li key={server.name}>
          <strong>{server.name}</strong> <span class="quiet">by {server.transport}</span>
          {server.last_status && (
            <p class="wrap">
              <CodeText words={server.last_status} />
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}
