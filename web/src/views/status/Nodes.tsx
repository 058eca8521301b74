// The nodes that share this store, and its queues.

import { StateBadge } from "../../parts/badges";
import { count, Timestamp } from "../../parts/format";
import { ScrollContainer } from "../../parts/scroll_container";
import { EmptyState } from "../../parts/states";
import { nodesOf, type QueueDepths, queueText, type StatusReport } from "./server_status";

export function Nodes({ status }: { status: StatusReport }) {
  const nodes = nodesOf(status);
  if (nodes.length === 0)
    return (
      <EmptyState title="No nodes.">
        <p>
          <code>foreword serve</code> or <code>foreword run</code> makes one.
        </p>
      </EmptyState>
    );
  return (
    <ScrollContainer label="Nodes">
      <table>
        <thead>
          <tr>
            <th scope="col">Node</th>
            <th scope="col">Listens on</th>
            <th scope="col">Since</th>
            <th scope="col">Last seen</th>
          </tr>
        </thead>
        <tbody>
          {nodes.map((node) => (
            <tr key={node.node}>
              <th scope="row" class="name">
                <span title={node.node}>{shortened(node.node)}</span>{" "}
                {node.here && <span class="badge good">this one</span>}
                {node.gone && <StateBadge of="gone" title="no heartbeat, and no clean shutdown" />}
                {node.version && <span class="quiet line">version {node.version}</span>}
              </th>
              <td class="listens">{node.listen ?? <span class="quiet">not listening</span>}</td>
              <td>
                <Timestamp at={node.started_at} />
              </td>
              <td>{node.here ? "now" : <Timestamp at={node.seen_at} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollContainer>
  );
}

/** Ids are long and differ at the end. */
function shortened(node: string): string {
  return node.length > 16 ? `${node.slice(0, 5)}…${node.slice(-6)}` : node;
}

export function Queues({ queues }: { queues: QueueDepths }) {
  return (
    <ScrollContainer label="Queues">
      <table>
        <thead>
          <tr>
            <th scope="col">Queue</th>
            <th scope="col" class="number">
              Now
            </th>
          </tr>
        </thead>
        <tbody>
          {Object.entries(queues).map(([name, depth]) => (
            <tr key={name}>
              <th scope="row" class="name">
                {name} <span class="quiet line">{queueText(name)}</span>
              </th>
              <td class="number">{count(depth)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollContainer>
  );
}
