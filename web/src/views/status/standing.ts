// How things stand, as the server tells it. Whoever is not the owner gets a part of it.
import type { Status } from "../../api/schema";

/** How often it is asked again while somebody looks. */
export const EVERY_MS = 4000;

export interface NodeStatus {
  node: string;
  version?: string | null;
  listen?: string | null;
  started_at?: string | null;
  seen_at?: string | null;
  /** Whether it is the one that was asked. */
  here: boolean;
  /** Whether it has been silent for long, without having stopped in order. */
  gone?: boolean;
}

export type QueueDepths = Record<string, number>;

export type Standing = Status & { nodes?: NodeStatus[] | null; queues?: QueueDepths | null };

/** The nodes there are; a server that does not list them is one by itself. */
export function nodesOf(standing: Standing): NodeStatus[] {
  if (standing.nodes?.length) return standing.nodes;
  const { server } = standing;
  return server ? [{ node: server.node, version: server.version, listen: server.listen, started_at: server.started_at, seen_at: standing.now, here: true }] : [];
}

const QUEUES: Record<string, string> = {
  inbox: "letters that no turn has dealt with",
  turns: "turns under way, on all nodes",
  deliveries: "answers that a bridge has not taken yet",
  outbox: "messages that nobody has fetched",
  events: "events of this node on their way into the store",
};

export function queueWords(name: string): string {
  return QUEUES[name] ?? "";
}
