// The views, in navigation order.
import type { ComponentType } from "preact";
import type { ViewProps } from "./App";

type Loaded = Promise<ComponentType<ViewProps>>;

export const VIEWS = {
  prompt: { title: "Prompt", group: "Words", load: (): Loaded => import("../views/prompt").then((m) => m.PromptView) },
  template: {
    title: "Template",
    group: "Words",
    load: (): Loaded => import("../views/template").then((m) => m.TemplateView),
  },
  layers: { title: "Layers", group: "Words", load: (): Loaded => import("../views/layers").then((m) => m.LayersView) },
  chat: { title: "Chat", group: "Talk", load: (): Loaded => import("../views/chat").then((m) => m.ChatView) },
  conversations: {
    title: "Conversations",
    group: "Talk",
    load: (): Loaded => import("../views/conversations").then((m) => m.ConversationsView),
  },
  senders: {
    title: "Senders",
    group: "Talk",
    load: (): Loaded => import("../views/senders").then((m) => m.SendersView),
  },
  trace: { title: "Trace", group: "Watch", load: (): Loaded => import("../views/trace").then((m) => m.TraceView) },
  costs: {
    title: "Costs and cache",
    group: "Watch",
    load: (): Loaded => import("../views/costs").then((m) => m.CostsView),
  },
  status: { title: "Status", group: "Watch", load: (): Loaded => import("../views/status").then((m) => m.StatusView) },
} as const;

export type ViewName = keyof typeof VIEWS;

export function isView(name: string): name is ViewName {
  return Object.hasOwn(VIEWS, name);
}
