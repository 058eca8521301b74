// The navigation, the current user and the theme switch.
import { useEffect, useState } from "preact/hooks";
import { toastError } from "../parts/toast";
import { href } from "./router";
import { closeSession, useSession } from "./session";
import { chooseTheme, chosenTheme, type Theme } from "./theme";
import { VIEWS, type ViewName } from "./views";

export function Nav({ current, onSignedOut }: { current: ViewName | undefined; onSignedOut: () => void }) {
  const session = useSession();
  const [openSession, setOpen] = useState(false);
  useEffect(() => setOpen(false), [current]);
  const signOut = async () => {
    try {
      await closeSession();
      onSignedOut();
    } catch (error) {
      toastError(error);
    }
  };
  return (
    <header class={`nav${openSession ? " open" : ""}`}>
      <div class="brand">
        <a href={href("prompt")}>
          <img src="/icon.svg" alt="" width="24" height="24" /> Foreword
        </a>
        <button
          type="button"
          class="menu"
          aria-expanded={openSession}
          aria-controls="views"
          onClick={() => setOpen(!openSession)}
        >
          {current ? VIEWS[current].title : "Views"} <span aria-hidden="true">{openSession ? "▴" : "▾"}</span>
        </button>
      </div>
      <nav id="views" aria-label="Views">
        {groups().map(([group, views]) => (
          <section key={group}>
            <h2>{group}</h2>
            <ul>
              {views.map((name) => (
                <li key={name}>
                  <a
                    href={href(name)}
                    aria-current={name === current ? "page" : undefined}
                    onClick={() => setOpen(false)}
                  >
                    {VIEWS[name].title}
                  </a>
                </li>
              ))}
            </ul>
          </section>
        ))}
      </nav>
      <div class="who">
        <p>
          <strong>{session.user}</strong> <span class="quiet">{session.trust} trust</span>
        </p>
        <ThemeChoice />
        <p class="row">
          <a href="/docs" class="quiet">
            API
          </a>
          <button type="button" class="plain" onClick={signOut}>
            Sign out
          </button>
        </p>
      </div>
    </header>
  );
}

function groups(): [string, ViewName[]][] {
  const byGroup = new Map<string, ViewName[]>();
  for (const name of Object.keys(VIEWS) as ViewName[]) {
    const group = VIEWS[name].group;
    byGroup.set(group, [...(byGroup.get(group) ?? []), name]);
  }
  return [...byGroup];
}

function ThemeChoice() {
  const [theme, setTheme] = useState<Theme>(chosenTheme);
  const choose = (theme: Theme) => {
    chooseTheme(theme);
    setTheme(theme);
  };
  return (
    <label class="theme">
      <span class="quiet">Theme</span>
      <select value={theme} onChange={(event) => choose(event.currentTarget.value as Theme)}>
        <option value="auto">system</option>
        <option value="light">light</option>
        <option value="dark">dark</option>
      </select>
    </label>
  );
}
