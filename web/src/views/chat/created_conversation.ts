// The conversation this tab created and still shows. A reload that starts while the page navigates to it loads the URL
// of the new-chat view, although the message is already sent: the page then opens the conversation again.

const KEY = "foreword.created";

export function rememberCreated(conversation: string): void {
  sessionStorage.setItem(KEY, conversation);
}

/** Called when the user leaves the conversation. */
export function forgetCreated(conversation: string): void {
  if (sessionStorage.getItem(KEY) === conversation) sessionStorage.removeItem(KEY);
}

/** The conversation to open instead of the new-chat view; only after a reload. */
export function createdBeforeReload(): string | undefined {
  const [load] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  return (load?.type === "reload" && sessionStorage.getItem(KEY)) || undefined;
}
