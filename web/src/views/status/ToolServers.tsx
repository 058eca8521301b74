// Servers that bring tools of their own.
import type { ToolServerStatus } from "../../api/schema";
import { Ticked } from "../../parts/ticked";
import { Empty } from "../../parts/told";

export function ToolServers({ servers }: { servers: ToolServerStatus[] }) {
  if (servers.length === 0) return <Empty title="No tool server is configured."><p>Section <code>tools.servers</code> of foreword.yaml names MCP servers whose tools the agent may use.</p></Empty>;
  return (
    <ul class="card plain-list">{servers.map((server) => (
      <li key={server.name}><strong>{server.name}</strong> <span class="quiet">by {server.reached_by}</span>{server.last_told && <p class="wrap"><Ticked words={server.last_told} /></p>}</li>
    ))}</ul>
  );
}
