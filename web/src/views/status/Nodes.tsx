// The servers that share this store, and what waits in it.
import { When, count } from "../../parts/figures";
import { State } from "../../parts/marks";
import { Scrolled } from "../../parts/scrolled";
import { Empty } from "../../parts/told";
import { type QueueDepths, type Standing, nodesOf, queueWords } from "./standing";

export function Nodes({ standing }: { standing: Standing }) {
  const nodes = nodesOf(standing);
  if (nodes.length === 0) return <Empty title="No node is known."><p><code>foreword serve</code> or <code>foreword run</code> makes one.</p></Empty>;
  return (
    <Scrolled label="Nodes">
      <table>
        <thead><tr><th scope="col">Node</th><th scope="col">Listens on</th><th scope="col">Since</th><th scope="col">Heard of</th></tr></thead>
        <tbody>{nodes.map((node) => (
          <tr key={node.node}>
            <th scope="row" class="name"><span title={node.node}>{shortened(node.node)}</span> {node.here && <span class="mark good">this one</span>}{node.gone && <State of="gone" title="it has said nothing for a while, and did not stop in order" />}{node.version && <span class="quiet line">version {node.version}</span>}</th>
            <td class="listens">{node.listen ?? <span class="quiet">nowhere: it only runs</span>}</td>
            <td><When at={node.started_at} /></td>
            <td>{node.here ? "now" : <When at={node.seen_at} />}</td>
          </tr>
        ))}</tbody>
      </table>
    </Scrolled>
  );
}

/** Ids are long, and told apart by their ends. */
function shortened(node: string): string {
  return node.length > 16 ? `${node.slice(0, 5)}…${node.slice(-6)}` : node;
}

export function Queues({ queues }: { queues: QueueDepths }) {
  return (
    <Scrolled label="Queues">
      <table>
        <thead><tr><th scope="col">Queue</th><th scope="col" class="number">Now</th></tr></thead>
        <tbody>{Object.entries(queues).map(([name, depth]) => (
          <tr key={name}><th scope="row" class="name">{name} <span class="quiet line">{queueWords(name)}</span></th><td class="number">{count(depth)}</td></tr>
        ))}</tbody>
      </table>
    </Scrolled>
  );
}
