// A question that has to be answered before going on. The browser keeps the focus in it, and Escape closes it.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

export function Dialog({ title, close, wide = false, children }: { title: string; close: () => void; wide?: boolean; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  /** Whether the pointer went down beside the dialog: whoever selects text may let go there. */
  const beside = useRef(false);
  // At once, and not after the next picture: whoever closes a dialog may give the focus to something else.
  useLayoutEffect(() => {
    const before = document.activeElement;
    const shown = dialog.current;
    shown?.showModal();
    return () => {
      // Nothing outside of a dialog that is open can be given the focus.
      shown?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const closed = () => {
    // It is not on the page any more, and it was us.
    if (!dialog.current) return;
    close();
    // Whoever asked does not agree yet.
    requestAnimationFrame(() => dialog.current && !dialog.current.open && dialog.current.showModal());
  };
  return (
    <dialog ref={dialog} class={wide ? "wide" : undefined} aria-label={title}
      onCancel={(event) => { event.preventDefault(); close(); }}
      // A browser heeds the second Escape in a row whatever is said to it.
      onClose={closed}
      onPointerDown={(event) => { beside.current = event.target === dialog.current; }}
      onClick={(event) => event.target === dialog.current && beside.current && close()}>
      <div class="inner">
        <h2>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}
