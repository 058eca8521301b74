// Copies the prompt in the format of a provider's API. If the browser denies clipboard access, it shows the text
// instead.
import { useEffect, useRef, useState } from "preact/hooks";
import { Dialog } from "../../parts/dialog";
import type { Occasion } from "../../parts/occasion";
import { toast, toastError } from "../../parts/toast";
import { useSession } from "../../shell/session";
import { request } from "./prompt";

const NAMES = { anthropic: "Anthropic", openai: "OpenAI" };
type Format = keyof typeof NAMES;

export function CopyAs({ occasion }: { occasion: Occasion }) {
  const { owner } = useSession();
  const [busy, setBusy] = useState<Format>();
  const [byHand, setByHand] = useState<{ format: Format; text: string }>();
  const copy = async (format: Format) => {
    setBusy(format);
    try {
      const text = await request(format, occasion, owner);
      const copied = await navigator.clipboard?.writeText(text).then(
        () => true,
        () => false,
      );
      if (copied) toast(`Copied as ${NAMES[format]} JSON.`);
      else setByHand({ format, text });
    } catch (error) {
      toastError(error);
    } finally {
      setBusy(undefined);
    }
  };
  return (
    <div class="row copying" role="group" aria-label="Copy as JSON">
      {(Object.keys(NAMES) as Format[]).map((format) => (
        <button
          type="button"
          key={format}
          disabled={busy !== undefined}
          aria-label={`Copy as ${NAMES[format]} JSON`}
          onClick={() => copy(format)}
        >
          {busy === format ? "Copying …" : `Copy as ${NAMES[format]}`}
        </button>
      ))}
      {byHand && (
        <ManualCopy
          title={`The prompt as ${NAMES[byHand.format]} JSON`}
          text={byHand.text}
          close={() => setByHand(undefined)}
        />
      )}
    </div>
  );
}

function ManualCopy({ title, text, close }: { title: string; text: string; close: () => void }) {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, []);
  return (
    <Dialog title={title} close={close}>
      <p>
        The browser denied clipboard access. The text is selected: copy it with <kbd>Ctrl C</kbd> or <kbd>⌘ C</kbd>.
      </p>
      <textarea ref={field} class="by-hand" readOnly rows={14} aria-label={title} value={text} spellcheck={false} />
      <p class="row">
        <button type="button" onClick={close}>
          Close
        </button>
      </p>
    </Dialog>
  );
}
