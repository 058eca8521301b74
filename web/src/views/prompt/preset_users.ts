// Splits users into visible and collapsed buttons, so that many users do not fill the screen.

/** The number of visible users. */
export const MAX_VISIBLE = 6;

export interface PresetUsers<T> {
  first: T[];
  more: T[];
}

/** The selected user is always visible. A single hidden user is shown instead of collapsed. */
export function presetUsers<T extends { name: string }>(
  users: T[],
  chosen: string | undefined,
  most: number = MAX_VISIBLE,
): PresetUsers<T> {
  if (users.length <= most + 1) return { first: users, more: [] };
  const at = users.findIndex((user) => user.name === chosen);
  const first = at < most ? users.slice(0, most) : [...users.slice(0, most - 1), users[at] as T];
  return { first, more: users.filter((user) => !first.includes(user)) };
}
