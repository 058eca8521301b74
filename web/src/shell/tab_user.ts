// Binds a tab to one user. Unsent messages, drafts and cached lists of a tab belong to one user: the next one never
// sees them, and other tabs learn of the change.

/** In session storage: the tab's user, empty after signing out. In local storage: the user who signed in last. */
const KEY = "foreword.who";
const PREFIX = "foreword.";

/** Binds the tab to `user`. Returns false if it belonged to another user: its data is cleared and the page reloads. */
export function claimTab(user: string): boolean {
  const before = sessionStorage.getItem(KEY);
  if (before !== user) clearTab();
  sessionStorage.setItem(KEY, user);
  localStorage.setItem(KEY, user);
  // The page was reloaded when the user signed out.
  if (!before || before === user) return true;
  location.reload();
  return false;
}

/** Clears the tab's data and reloads the start page. */
export function leaveTab(): void {
  localStorage.setItem(KEY, "");
  startOver();
}

/** Follows sign-ins in other tabs; `user` is empty when signed out. */
export function followTabs(user: string): () => void {
  const onStorage = ({ key, newValue }: StorageEvent) => {
    if (key !== KEY || newValue === null || newValue === user) return;
    if (newValue === "") startOver();
    else location.reload();
  };
  addEventListener("storage", onStorage);
  return () => removeEventListener("storage", onStorage);
}

function startOver(): void {
  clearTab();
  sessionStorage.setItem(KEY, "");
  // The URL may name a conversation, and navigating back must not show cached content.
  history.replaceState(null, "", location.pathname);
  location.reload();
}

function clearTab(): void {
  for (const name of Object.keys(sessionStorage)) if (name.startsWith(PREFIX)) sessionStorage.removeItem(name);
}
