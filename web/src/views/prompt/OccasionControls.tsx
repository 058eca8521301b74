// The occasion controls: buttons for users, and select fields for the rest, which are collapsed on a phone.
import { useState } from "preact/hooks";
import { type Occasion, OccasionPicker, useOccasions } from "../../parts/occasion";
import { ErrorNotice } from "../../parts/states";
import { useSession } from "../../shell/session";
import { PHONE, useMedia } from "./media_query";
import { Presets } from "./Presets";
import { OWN_FIELDS } from "./prompt";

export function OccasionControls({ occasion, choose }: { occasion: Occasion; choose: (occasion: Occasion) => void }) {
  const { owner } = useSession();
  const phone = useMedia(PHONE);
  const [opened, setOpened] = useState(false);
  const { value: known, error, reload } = useOccasions();
  // Show the shared error once, where it is visible.
  if (!known && error)
    return (
      <div class="choosing">
        <ErrorNotice error={error} reload={reload} />
      </div>
    );
  return (
    <div class="choosing">
      {owner && <Presets occasion={occasion} choose={choose} />}
      <details class="lists" open={!phone || opened} onToggle={(event) => phone && setOpened(event.currentTarget.open)}>
        <summary>{owner ? "Another occasion …" : "Another agent or model …"}</summary>
        <OccasionPicker value={occasion} change={choose} label="Occasion" fields={owner ? undefined : OWN_FIELDS} />
      </details>
    </div>
  );
}
