// A modal dialog. The browser traps the focus in it, and Escape closes it.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

export function Dialog({
  title,
  close,
  wide = false,
  children,
}: {
  title: string;
  close: () => void;
  wide?: boolean;
  children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  /** Whether the pointer went down on the backdrop. A text selection may end there without closing the dialog. */
  const onBackdrop = useRef(false);
  // A layout effect, because the code that closes a dialog may move the focus right after.
  useLayoutEffect(() => {
    const before = document.activeElement;
    const shown = dialog.current;
    shown?.showModal();
    return () => {
      // Elements outside an open modal dialog cannot take the focus.
      shown?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const closed = () => {
    // The element is unmounted: this close event is our own.
    if (!dialog.current) return;
    close();
    // The parent may refuse to close: open the dialog again.
    requestAnimationFrame(() => dialog.current && !dialog.current.open && dialog.current.showModal());
  };
  return (
    <dialog
      ref={dialog}
      class={wide ? "wide" : undefined}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      // Browsers close the dialog on a second Escape even if `cancel` was prevented.
      onClose={closed}
      onPointerDown={(event) => {
        onBackdrop.current = event.target === dialog.current;
      }}
      onClick={(event) => event.target === dialog.current && onBackdrop.current && close()}
    >
      <div class="inner">
        <h2>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}
