// The whole page: signs in, shows the way, and opens one view at a time. Views are loaded when they are first asked for.
import type { ComponentType } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { useComeBack } from "../api/asking";
import { Refusal, onStranger } from "../api/client";
import { Busy, Empty, Told } from "../parts/told";
import { Toasts } from "../parts/toast";
import { Nav } from "./Nav";
import { SignIn } from "./SignIn";
import { type Place, go, usePlace } from "./router";
import { type Session, Who, open, remembered } from "./session";
import { VIEWS, type ViewName, isView } from "./views";
import { claimTab, followTabs, leaveTab } from "./whose";

export function App() {
  const [arrival, setArrival] = useState<Arrival>();
  const begin = useCallback(() => void arrived().then(setArrival), []);
  useEffect(begin, []);
  // A link that is opened in a tab which shows the page already changes the address and loads nothing.
  useEffect(() => {
    const linked = () => { if (LINK.test(location.hash)) begin(); };
    addEventListener("hashchange", linked);
    return () => removeEventListener("hashchange", linked);
  }, []);
  useComeBack(arrival?.away, begin);
  useEffect(() => onStranger(() => setArrival({})), []);
  const user = arrival?.session?.user ?? "";
  useEffect(() => followTabs(user), [user]);
  if (arrival === undefined) return <main class="alone"><Busy what="Foreword" /></main>;
  if (arrival.away) return <main class="alone"><Told refusal={arrival.away} again={begin} /></main>;
  if (!arrival.session) return <SignIn refusal={arrival.refused} entered={(session) => setArrival(entering(session))} />;
  return (
    <Who.Provider value={arrival.session}>
      <Inside leave={() => { setArrival(undefined); leaveTab(); }} />
    </Who.Provider>
  );
}

/** Who is here: somebody, a stranger, perhaps one whose link was refused, or nobody knows as long as the server is away. */
interface Arrival {
  session?: Session;
  refused?: Refusal;
  away?: Refusal;
}

/** The address of a link that signs in once. */
const LINK = /^#\/?welcome\/([a-z0-9]+)$/;

/** What the link brought, until the server has said what it is worth. */
let code: string | undefined;

/** Takes the code out of the address, before anything else happens. */
function codeOfLink(): string | undefined {
  const found = LINK.exec(location.hash)?.[1];
  if (found) go("#/prompt", "replace");
  return found ?? code;
}

/** The session that the link opens, or the one there was. */
async function arrived(): Promise<Arrival | undefined> {
  code = codeOfLink();
  let refused: Refusal | undefined;
  try {
    if (code) return entering(await open({ code }));
  } catch (error) {
    refused = Refusal.of(error);
    if (refused.code === "unreachable") return { away: refused };
  }
  code = undefined;
  try {
    const session = await remembered();
    // A link that was used already, in a browser that is signed in: nothing is lost.
    return session ? entering(session) : { refused };
  } catch (error) {
    return { away: Refusal.of(error) };
  }
}

/** `undefined` while the page begins anew for somebody else. */
function entering(session: Session): Arrival | undefined {
  return claimTab(session.user) ? { session } : undefined;
}

function Inside({ leave }: { leave: () => void }) {
  const place = usePlace();
  const name: ViewName | undefined = isView(place.view) ? place.view : undefined;
  const title = name ? VIEWS[name].title : "No such page";
  const main = useRef<HTMLElement>(null);
  const shown = useRef({ name, place });
  useEffect(() => {
    document.title = `${title} · Foreword`;
    // Whoever uses the keyboard or a screen reader goes on in the new view, and where a list gave way to one of its lines.
    if (shown.current.name !== name) main.current?.focus();
    else if (pathOf(shown.current.place) !== pathOf(place) && document.activeElement === document.body) main.current?.focus({ preventScroll: true });
    shown.current = { name, place };
  }, [place]);
  return (
    <div class="page">
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); main.current?.focus(); }}>Skip to the content</a>
      <Nav current={name} leave={leave} />
      <main id="main" ref={main} tabIndex={-1} data-view={name ?? "none"}>
        {name ? <View key={name} name={name} place={place} /> : <NoSuchPage />}
      </main>
      <Toasts />
    </div>
  );
}

function pathOf(place: Place): string {
  return place.rest.join("/");
}

export interface ViewProps {
  place: Place;
}

function NoSuchPage() {
  return (
    <>
      <div class="head"><h1>There is no such page</h1></div>
      <Empty title="Nothing is at this address."><p><a href="#/prompt">Go to the prompt</a></p></Empty>
    </>
  );
}

function View({ name, place }: { name: ViewName; place: Place }) {
  const [Loaded, setLoaded] = useState<ComponentType<ViewProps>>();
  const [failed, setFailed] = useState<Refusal>();
  useEffect(() => {
    VIEWS[name].load().then((loaded) => setLoaded(() => loaded), () => whyNotLoaded().then(setFailed));
  }, [name]);
  // A browser may remember that a file did not come, so the page begins anew once the server is back. What was being written is kept for the tab.
  const again = useCallback(() => void whyNotLoaded().then((why) => (why.code === "unreachable" ? setFailed(why) : location.reload())), []);
  useComeBack(failed, again);
  if (failed) return <Told refusal={failed} again={again} />;
  return Loaded ? <Loaded place={place} /> : <Busy what={VIEWS[name].title} />;
}

/** A part of the page that does not come: there is no server, or one that has other parts. */
async function whyNotLoaded(): Promise<Refusal> {
  try {
    await fetch("/healthz", { cache: "no-store" });
  } catch (error) {
    return Refusal.of(error);
  }
  return new Refusal("stale", "This part of the page could not be loaded.", "The server may be another version by now: reload the page.");
}
