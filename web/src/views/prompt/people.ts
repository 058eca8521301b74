// Who has a button of their own above the prompt, and who is folded away: with many people the row must not fill the screen.

/** So many are simply there. */
export const MOST = 6;

export interface People<T> {
  first: T[];
  more: T[];
}

/** Whoever is chosen is among the first, so that it can always be seen. One alone is not worth a fold. */
export function people<T extends { name: string }>(users: T[], chosen: string | undefined, most: number = MOST): People<T> {
  if (users.length <= most + 1) return { first: users, more: [] };
  const at = users.findIndex((user) => user.name === chosen);
  const first = at < most ? users.slice(0, most) : [...users.slice(0, most - 1), users[at] as T];
  return { first, more: users.filter((user) => !first.includes(user)) };
}
