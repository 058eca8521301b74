// A message as the sender's record has it. Long texts are truncated there; a button loads the whole text.
import { useState } from "preact/hooks";
import { ApiError } from "../../api/client";
import { showBidiControls } from "../../parts/bidi";
import { ErrorNotice } from "../../parts/states";
import { isTruncated } from "./truncated";

/** `whole` loads the full text, or navigates to it and returns nothing. */
export function TruncatedText({
  text,
  whole,
  more,
}: {
  text: string;
  whole: () => Promise<string | undefined>;
  more: string;
}) {
  const [all, setAll] = useState<string>();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const show = async () => {
    setBusy(true);
    setError(undefined);
    try {
      setAll(await whole());
    } catch (error) {
      setError(ApiError.of(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <p class="message-text">{showBidiControls(all ?? text)}</p>
      {isTruncated(text) && all === undefined && (
        <p>
          <button type="button" class="plain" onClick={show} disabled={busy}>
            {busy ? "One moment …" : more}
          </button>
        </p>
      )}
      {error && <ErrorNotice error={error} />}
    </>
  );
}
