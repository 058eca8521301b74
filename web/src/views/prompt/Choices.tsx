// Every way to choose an occasion: buttons for people, and lists for the rest; on a phone the lists are folded away.
import { useState } from "preact/hooks";
import { type Occasion, OccasionPicker, useOccasions } from "../../parts/occasion";
import { Told } from "../../parts/told";
import { useSession } from "../../shell/session";
import { Presets } from "./Presets";
import { PHONE, useMedia } from "./narrow";
import { OWN_FIELDS } from "./prompt";

export function Choices({ occasion, choose }: { occasion: Occasion; choose: (occasion: Occasion) => void }) {
  const { owner } = useSession();
  const phone = useMedia(PHONE);
  const [opened, setOpened] = useState(false);
  const { value: known, refusal, again } = useOccasions();
  // Once for both of them, and where it can be seen.
  if (!known && refusal) return <div class="choosing"><Told refusal={refusal} again={again} /></div>;
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
