// What was written, as the record of its sender keeps it: a long text is cut there, and the whole of it is a click away.
import { useState } from "preact/hooks";
import { Refusal } from "../../api/client";
import { Told } from "../../parts/told";
import { visible } from "../../parts/visible";
import { isCut } from "./cut";

/** `whole` finds all of it, or goes where it is and gives nothing. */
export function Speech({ text, whole, more }: { text: string; whole: () => Promise<string | undefined>; more: string }) {
  const [all, setAll] = useState<string>();
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const show = async () => {
    setBusy(true);
    setRefusal(undefined);
    try {
      setAll(await whole());
    } catch (error) {
      setRefusal(Refusal.of(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <p class="speech">{visible(all ?? text)}</p>
      {isCut(text) && all === undefined && <p><button class="plain" onClick={show} disabled={busy}>{busy ? "One moment …" : more}</button></p>}
      {refusal && <Told refusal={refusal} />}
    </>
  );
}
