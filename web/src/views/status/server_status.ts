// The server's status. Users other than the owner receive only a part of it.
import type { ServerProblem, Status } from "../../api/schema";

/** Refresh interval while the page is visible. */
export const POLL_INTERVAL_MS = 4000;

export interface NodeStatus {
  node: string;
  version?: string | null;
  listen?: string | null;
  started_at?: string | null;
  seen_at?: string | null;
  /** Whether this node answered the request. */
  here: boolean;
  /** Whether it stopped sending heartbeats without a clean shutdown. */
  gone?: boolean;
}

export type QueueDepths = Record<string, number>;

export type StatusReport = Status & { nodes?: NodeStatus[] | null; queues?: QueueDepths | null };

/** The nodes; a server that lists none is the only node. */
export function nodesOf(status: StatusReport): NodeStatus[] {
  if (status.nodes?.length) return status.nodes;
  const { server } = status;
  return server
    ? [
        {
          node: server.node,
          version: server.version,
          listen: server.listen,
          started_at: server.started_at,
          seen_at: status.now,
          here: true,
        },
      ]
    : [];
}

/** Problems of the configuration, the workspace and the store; only the owner receives them. */
export function problemsOf(status: StatusReport): ServerProblem[] {
  return status.server?.problems ?? [];
}

const QUEUES: Record<string, string> = {
  inbox: "unprocessed inbox messages",
  turns: "running turns, on all nodes",
  deliveries: "undelivered answers to bridges",
  outbox: "unfetched messages",
  events: "this node's unwritten events",
};

export function queueText(name: string): string {
  return QUEUES[name] ?? "";
}
