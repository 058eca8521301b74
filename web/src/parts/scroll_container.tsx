// A container for wide tables. It becomes a keyboard tab stop only if its content overflows.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export function ScrollContainer({
  label,
  class: more = "",
  children,
}: {
  label: string;
  class?: string;
  children: ComponentChildren;
}) {
  const container = useRef<HTMLDivElement>(null);
  const [overflows, setOverflows] = useState(false);
  useEffect(() => {
    const host = container.current;
    if (!host) return;
    const measure = () => setOverflows(host.scrollWidth > host.clientWidth || host.scrollHeight > host.clientHeight);
    const observer = new ResizeObserver(measure);
    observer.observe(host);
    if (host.firstElementChild) observer.observe(host.firstElementChild);
    return () => observer.disconnect();
  }, []);
  return (
    <div
      ref={container}
      class={`table ${more}`}
      {...(overflows && { tabIndex: 0, role: "group", "aria-label": label })}
    >
      {children}
    </div>
  );
}
