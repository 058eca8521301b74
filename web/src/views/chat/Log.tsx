// The messages, which scroll by themselves as long as one reads at the end, and stay where they are if one reads further up.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** How near the end counts as the end. */
const NEAR = 60;

export function Log({ of, version, earlier, children }: { of: string; version: unknown; earlier?: () => Promise<void>; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  /** How far from the end one was when earlier messages were asked for. */
  const fromEnd = useRef<number | undefined>(undefined);
  const [away, setAway] = useState(false);
  const [busy, setBusy] = useState(false);
  const follow = () => {
    const element = box.current;
    if (!element) return;
    if (fromEnd.current !== undefined) element.scrollTop = element.scrollHeight - fromEnd.current;
    else if (atEnd.current) element.scrollTop = element.scrollHeight;
  };
  useLayoutEffect(() => {
    atEnd.current = true;
    setAway(false);
    follow();
  }, [of]);
  useLayoutEffect(follow, [version]);
  useEffect(() => {
    if (!box.current) return;
    // A window that gets smaller, a composer that grows.
    const watch = new ResizeObserver(follow);
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const scrolled = () => {
    const element = box.current;
    if (!element) return;
    atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
    setAway(!atEnd.current);
  };
  const more = async () => {
    if (!earlier || !box.current) return;
    setBusy(true);
    fromEnd.current = box.current.scrollHeight - box.current.scrollTop;
    try {
      await earlier();
    } finally {
      setBusy(false);
      requestAnimationFrame(() => (fromEnd.current = undefined));
    }
  };
  const toEnd = () => {
    atEnd.current = true;
    setAway(false);
    follow();
  };
  return (
    <div class="log-frame">
      <div class="log" ref={box} onScroll={scrolled} tabIndex={0} role="region" aria-label="Messages">
        <div class="log-inner">
          {earlier && <p class="more"><button onClick={more} disabled={busy}>{busy ? "One moment …" : "Show earlier messages"}</button></p>}
          {children}
        </div>
      </div>
      {away && <button class="to-end" onClick={toEnd}>To the newest <span aria-hidden="true">↓</span></button>}
    </div>
  );
}
