// A table that is wider than its place scrolls sideways, and can then be reached with the keyboard to do so. One that fits is no stop.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export function Scrolled({ label, class: more = "", children }: { label: string; class?: string; children: ComponentChildren }) {
  const place = useRef<HTMLDivElement>(null);
  const [wide, setWide] = useState(false);
  useEffect(() => {
    const host = place.current;
    if (!host) return;
    const look = () => setWide(host.scrollWidth > host.clientWidth || host.scrollHeight > host.clientHeight);
    const sized = new ResizeObserver(look);
    sized.observe(host);
    if (host.firstElementChild) sized.observe(host.firstElementChild);
    return () => sized.disconnect();
  }, []);
  return <div ref={place} class={`table ${more}`} {...(wide && { tabIndex: 0, role: "group", "aria-label": label })}>{children}</div>;
}
