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
}

export type QueueDepths = Record<string, number>;

export type Standing = Status & { nodes?: NodeStatus[] | null; queues?: QueueDepths | null };

/** The nodes there are; a server that does not list them is one by itself. */
export function nodesOf(standing: Standing): NodeStatus[] {
  if (standing.nodes?.length) return standing.nodes;
  const { server } = standing;
  return server ? [{ node: server.node, version: server.version, listen: server.listen, started_at: server.started_at, seen_at: standing.now, here: true }] : [];
}

/** A node that has not been heard of for so long is probably gone. */
const SILENT_MS = 60_000;

export function isSilent(node: NodeStatus, now: string): boolean {
  return !node.here && !!node.seen_at && Date.parse(now) - Date.parse(node.seen_at) > SILENT_MS;
}

const QUEUES: Record<string, string> = {
  inbox: "letters waiting for an answer",
  turns: "turns under way or waiting",
  deliveries: "answers on their way to bridges",
  outbox: "notices to other nodes",
  events: "events waiting to be written",
};

export function queueWords(name: string): string {
  return QUEUES[name] ?? "";
}
