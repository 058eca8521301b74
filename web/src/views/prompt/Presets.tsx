// One click from one occasion to another: everybody who is known, in private and wherever others listen.
import { type Occasion, useOccasions } from "../../parts/occasion";
import { useSession } from "../../shell/session";

/** More people than this are chosen from the list below. */
const MOST = 6;

export function Presets({ occasion, choose }: { occasion: Occasion; choose: (occasion: Occasion) => void }) {
  const { user } = useSession();
  const { value: known } = useOccasions();
  if (!known) return <div class="presets" />;
  // Where trust has a ceiling, others listen.
  const shared = known.situations.filter((situation) => situation.ceiling !== "full").map((situation) => situation.name);
  const situations = ["dm", ...shared];
  return (
    <div class="presets" role="group" aria-label="Occasions">
      {known.users.slice(0, MOST).map((one) => (
        <div class="person" key={one.name}>
          <span class="name clip" aria-hidden="true" title={one.name}>{one.name}</span>
          {situations.map((situation) => {
            const words = situation === "dm" ? "private" : situation;
            const pressed = (occasion.user ?? user) === one.name && (occasion.situation ?? "dm") === situation;
            const picked = { ...occasion, user: one.name, situation: situation === "dm" ? undefined : situation, channel: undefined };
            return <button key={situation} aria-label={`${one.name}, ${words}`} aria-pressed={pressed} onClick={() => choose(picked)}>{words}</button>;
          })}
        </div>
      ))}
    </div>
  );
}
