// A section of the view with a heading.
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

export function Section({ title, hint, children }: { title: string; hint?: string; children: ComponentChildren }) {
  const id = useId();
  return (
    <section class="vertical-stack status-part" aria-labelledby={id}>
      <h2 id={id}>
        {title}
        {hint && <span class="quiet hint"> {hint}</span>}
      </h2>
      {children}
    </section>
  );
}
