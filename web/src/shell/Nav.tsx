// The way to every view, who is signed in, and light or dark.
import { useEffect, useState } from "preact/hooks";
import { toastRefusal } from "../parts/toast";
import { href } from "./router";
import { close, useSession } from "./session";
import { type Theme, chooseTheme, chosenTheme } from "./theme";
import { VIEWS, type ViewName } from "./views";

export function Nav({ current, leave }: { current: ViewName | undefined; leave: () => void }) {
  const session = useSession();
  const [open, setOpen] = useState(false);
  useEffect(() => setOpen(false), [current]);
  const goes = async () => {
    try {
      await close();
      leave();
    } catch (error) {
      toastRefusal(error);
    }
  };
  return (
    <header class={`nav${open ? " open" : ""}`}>
      <div class="brand">
        <a href={href("prompt")}><img src="/icon.svg" alt="" width="24" height="24" /> Foreword</a>
        <button class="menu" aria-expanded={open} aria-controls="views" onClick={() => setOpen(!open)}>
          {current ? VIEWS[current].title : "Views"} <span aria-hidden="true">{open ? "▴" : "▾"}</span>
        </button>
      </div>
      <nav id="views" aria-label="Views">
        {groups().map(([group, views]) => (
          <section key={group}>
            <h2>{group}</h2>
            <ul>
              {views.map((name) => (
                <li key={name}>
                  <a href={href(name)} aria-current={name === current ? "page" : undefined} onClick={() => setOpen(false)}>{VIEWS[name].title}</a>
                </li>
              ))}
            </ul>
          </section>
        ))}
      </nav>
      <div class="who">
        <p><strong>{session.user}</strong> <span class="quiet">{session.trust} trust</span></p>
        <ThemeChoice />
        <p class="row"><a href="/docs" class="quiet">API</a><button class="plain" onClick={goes}>Sign out</button></p>
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
      <span class="quiet">Light or dark</span>
      <select value={theme} onChange={(event) => choose(event.currentTarget.value as Theme)}>
        <option value="auto">as the machine</option>
        <option value="light">light</option>
        <option value="dark">dark</option>
      </select>
    </label>
  );
}
