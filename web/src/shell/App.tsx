// The root component: signs in, renders the navigation and loads one view at a time.
import type { ComponentType } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, onUnauthorized } from "../api/client";
import { useRetry } from "../api/query";
import { EmptyState, ErrorNotice, Loading } from "../parts/states";
import { Toasts } from "../parts/toast";
import { Nav } from "./Nav";
import { navigate, type Route, useRoute } from "./router";
import { SignIn } from "./SignIn";
import { currentSession, openSession, type Session, SessionContext } from "./session";
import { claimTab, followTabs, leaveTab } from "./tab_user";
import { isView, VIEWS, type ViewName } from "./views";

export function App() {
  const [signIn, setSignIn] = useState<SignInState>();
  const start = useCallback(() => void resolveSignIn().then(setSignIn), []);
  useEffect(start, []);
  // Opening a sign-in link in a tab that already shows the page only changes the hash.
  useEffect(() => {
    const onHashChange = () => {
      if (LINK.test(location.hash)) start();
    };
    addEventListener("hashchange", onHashChange);
    return () => removeEventListener("hashchange", onHashChange);
  }, []);
  useRetry(signIn?.unreachable, start);
  useEffect(() => onUnauthorized(() => setSignIn({})), []);
  const user = signIn?.session?.user ?? "";
  useEffect(() => followTabs(user), [user]);
  if (signIn === undefined)
    return (
      <main class="alone">
        <Loading what="Foreword" />
      </main>
    );
  if (signIn.unreachable)
    return (
      <main class="alone">
        <ErrorNotice error={signIn.unreachable} reload={start} />
      </main>
    );
  if (!signIn.session)
    return <SignIn error={signIn.linkError} onSignedIn={(session) => setSignIn(signedIn(session))} />;
  return (
    <SessionContext.Provider value={signIn.session}>
      <SignedInPage
        onSignedOut={() => {
          setSignIn(undefined);
          leaveTab();
        }}
      />
    </SessionContext.Provider>
  );
}

/**
 * The sign-in state: signed in, signed out (perhaps with a refused link), or unknown while the server is unreachable.
 */
interface SignInState {
  session?: Session;
  linkError?: ApiError;
  unreachable?: ApiError;
}

/** The hash of a one-time sign-in link. */
const LINK = /^#\/?welcome\/([a-z0-9]+)$/;

/** The code of the link, until the server has accepted or refused it. */
let code: string | undefined;

/** Removes the code from the URL before anything else happens. */
function codeOfLink(): string | undefined {
  const found = LINK.exec(location.hash)?.[1];
  if (found) navigate("#/prompt", "replace");
  return found ?? code;
}

/** Signs in with the link, or resumes the existing login session. */
async function resolveSignIn(): Promise<SignInState | undefined> {
  code = codeOfLink();
  let linkError: ApiError | undefined;
  try {
    if (code) return signedIn(await openSession({ code }));
  } catch (error) {
    linkError = ApiError.of(error);
    if (linkError.code === "unreachable") return { unreachable: linkError };
  }
  code = undefined;
  try {
    const session = await currentSession();
    // A used link in a browser that is signed in already is not an error.
    return session ? signedIn(session) : { linkError };
  } catch (error) {
    return { unreachable: ApiError.of(error) };
  }
}

/** Returns `undefined` while the page reloads for another user. */
function signedIn(session: Session): SignInState | undefined {
  return claimTab(session.user) ? { session } : undefined;
}

function SignedInPage({ onSignedOut }: { onSignedOut: () => void }) {
  const route = useRoute();
  const name: ViewName | undefined = isView(route.view) ? route.view : undefined;
  const title = name ? VIEWS[name].title : "Page not found";
  const main = useRef<HTMLElement>(null);
  const shown = useRef({ name, route });
  useEffect(() => {
    document.title = `${title} · Foreword`;
    // Moves the focus into the new view for keyboard and screen reader users, also when a list item opens.
    if (shown.current.name !== name) main.current?.focus();
    else if (pathOf(shown.current.route) !== pathOf(route) && document.activeElement === document.body)
      main.current?.focus({ preventScroll: true });
    shown.current = { name, route };
  }, [route]);
  return (
    <div class="page">
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to content
      </a>
      <Nav current={name} onSignedOut={onSignedOut} />
      <main id="main" ref={main} tabIndex={-1} data-view={name ?? "none"}>
        {name ? <View key={name} name={name} route={route} /> : <NoSuchPage />}
      </main>
      <Toasts />
    </div>
  );
}

function pathOf(route: Route): string {
  return route.rest.join("/");
}

export interface ViewProps {
  route: Route;
}

function NoSuchPage() {
  return (
    <>
      <div class="head">
        <h1>Page not found</h1>
      </div>
      <EmptyState title="This URL does not exist.">
        <p>
          <a href="#/prompt">Open the prompt view</a>
        </p>
      </EmptyState>
    </>
  );
}

function View({ name, route }: { name: ViewName; route: Route }) {
  const [Loaded, setLoaded] = useState<ComponentType<ViewProps>>();
  const [failed, setFailed] = useState<ApiError>();
  useEffect(() => {
    VIEWS[name].load().then(
      (loaded) => setLoaded(() => loaded),
      () => loadError().then(setFailed),
    );
  }, [name]);
  // Browsers may cache a failed module load, so reload the page once the server is back. Drafts are kept for the tab.
  const reload = useCallback(
    () => void loadError().then((why) => (why.code === "unreachable" ? setFailed(why) : location.reload())),
    [],
  );
  useRetry(failed, reload);
  if (failed) return <ErrorNotice error={failed} reload={reload} />;
  return Loaded ? <Loaded route={route} /> : <Loading what={VIEWS[name].title} />;
}

/** Why a chunk failed to load: the server is unreachable, or it has another version of the page. */
async function loadError(): Promise<ApiError> {
  try {
    await fetch("/healthz", { cache: "no-store" });
  } catch (error) {
    return ApiError.of(error);
  }
  return new ApiError(
    "stale",
    "This part of the page could not be loaded.",
    "The server may have been updated. Reload the page.",
  );
}
