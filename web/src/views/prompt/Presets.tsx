// Preset occasions: every known user, in private and in each situation with an audience.
import { type Occasion, type Occasions, useOccasions } from "../../parts/occasion";
import { useSession } from "../../shell/session";
import { presetUsers } from "./preset_users";

interface PresetsProps {
  occasion: Occasion;
  choose: (occasion: Occasion) => void;
}

export function Presets({ occasion, choose }: PresetsProps) {
  const { user } = useSession();
  const { value: known } = useOccasions();
  if (!known) return <div class="presets" />;
  // A situation with a trust ceiling has an audience.
  const shared = known.situations
    .filter((situation) => situation.ceiling !== "full")
    .map((situation) => situation.name);
  const { first, more } = presetUsers(known.users, occasion.user ?? user);
  const person = (one: Occasions["users"][number]) => (
    <UserPresets key={one.name} name={one.name} situations={["dm", ...shared]} occasion={occasion} choose={choose} />
  );
  return (
    <div role="group" aria-label="Occasions">
      <div class="presets">{first.map(person)}</div>
      {more.length > 0 && (
        <details class="others">
          <summary>{more.length} more users</summary>
          <div class="presets">{more.map(person)}</div>
        </details>
      )}
    </div>
  );
}

function UserPresets({ name, situations, occasion, choose }: PresetsProps & { name: string; situations: string[] }) {
  const { user } = useSession();
  return (
    <div class="person">
      <span class="name clip" aria-hidden="true" title={name}>
        {name}
      </span>
      {situations.map((situation) => {
        const words = situation === "dm" ? "private" : situation;
        const pressed = (occasion.user ?? user) === name && (occasion.situation ?? "dm") === situation;
        const picked = {
          ...occasion,
          user: name,
          situation: situation === "dm" ? undefined : situation,
          channel: undefined,
        };
        return (
          <button
            type="button"
            key={situation}
            aria-label={`${name}, ${words}`}
            aria-pressed={pressed}
            onClick={() => choose(picked)}
          >
            {words}
          </button>
        );
      })}
    </div>
  );
}
