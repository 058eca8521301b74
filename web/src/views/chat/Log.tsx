// The scrolling message log: follows new messages at the end, and keeps its position when the user has scrolled up.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** The distance in pixels that still counts as the end. */
const END_THRESHOLD_PX = 60;

export function Log({
  of,
  version,
  earlier,
  children,
}: {
  of: string;
  version: unknown;
  earlier?: () => Promise<void>;
  children: ComponentChildren;
}) {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  /** The distance from the end when earlier messages were requested. */
  const fromEnd = useRef<number | undefined>(undefined);
  const [scrolledUp, setScrolledUp] = useState(false);
  const [busy, setBusy] = useState(false);
  const follow = () => {
    const element = box.current;
    if (!element) return;
    if (fromEnd.current !== undefined) element.scrollTop = element.scrollHeight - fromEnd.current;
    else if (atEnd.current) element.scrollTop = element.scrollHeight;
  };
  useLayoutEffect(() => {
    atEnd.current = true;
    setScrolledUp(false);
    follow();
  }, [of]);
  useLayoutEffect(follow, [version]);
  useEffect(() => {
    if (!box.current) return;
    // The window shrinks or the composer grows.
    const watch = new ResizeObserver(follow);
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const scrolled = () => {
    const element = box.current;
    if (!element) return;
    atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < END_THRESHOLD_PX;
    setScrolledUp(!atEnd.current);
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
    setScrolledUp(false);
    follow();
  };
  return (
    <div class="log-frame">
      <div class="log" ref={box} onScroll={scrolled} tabIndex={0} role="region" aria-label="Messages">
        <div class="log-inner">
          {earlier && (
            <p class="more">
              <button type="button" onClick={more} disabled={busy}>
                {busy ? "One moment …" : "Show earlier messages"}
              </button>
            </p>
          )}
          {children}
        </div>
      </div>
      {scrolledUp && (
        <button type="button" class="to-end" onClick={toEnd}>
          Jump to latest <span aria-hidden="true">↓</span>
        </button>
      )}
    </div>
  );
}
