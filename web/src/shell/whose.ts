// Whose tab this is. What the page keeps for the tab (letters that wait, half a thought) and remembers (lists, names) is one
// person's: whoever comes next finds none of it, and other tabs learn that somebody else is here.

/** In the tab: whose it is, empty after a sign-out. In the browser: who was signed in last. */
const KEY = "foreword.who";
const OURS = "foreword.";

/** Makes the tab this person's. If it was another one's, all of that is forgotten and the page begins anew: then it is `false`. */
export function claimTab(user: string): boolean {
  const before = sessionStorage.getItem(KEY);
  if (before !== user) forget();
  sessionStorage.setItem(KEY, user);
  localStorage.setItem(KEY, user);
  // After a sign-out the page began anew already.
  if (!before || before === user) return true;
  location.reload();
  return false;
}

/** Forgets whose tab it was, and begins anew where everybody does. */
export function leaveTab(): void {
  localStorage.setItem(KEY, "");
  startOver();
}

/** Follows what other tabs say of who is signed in; `user` is empty for a stranger. */
export function followTabs(user: string): () => void {
  const heard = ({ key, newValue }: StorageEvent) => {
    if (key !== KEY || newValue === null || newValue === user) return;
    if (newValue === "") startOver();
    else location.reload();
  };
  addEventListener("storage", heard);
  return () => removeEventListener("storage", heard);
}

function startOver(): void {
  forget();
  sessionStorage.setItem(KEY, "");
  // The address may tell of a conversation, and going back to it must not show what this page still remembers.
  history.replaceState(null, "", location.pathname);
  location.reload();
}

function forget(): void {
  for (const name of Object.keys(sessionStorage)) if (name.startsWith(OURS)) sessionStorage.removeItem(name);
}
