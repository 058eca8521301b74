// Epochs, the newest first, and which two of them are compared. On a phone each row is a card, so the roles are written out.
import type { FrozenPrompt } from "../../api/schema";
import { When, count } from "../../parts/figures";
import { Trust } from "../../parts/marks";
import { Ticked } from "../../parts/ticked";
import { shortHash } from "./Facts";

export type Epoch = FrozenPrompt["epochs"]["items"][number] & { inForce: boolean };

const REASONS: Record<string, string> = {
  first_turn: "this is the first turn",
  compaction: "the conversation was summed up",
  trust_fell: "trust fell",
  changed: "something it was built from changed",
  cache_cold: "the provider had forgotten it, and there were changes to take in",
};

interface EpochTableProps {
  epochs: Epoch[];
  from: number;
  to: number;
  pick: (changes: { from?: number; to?: number }) => void;
}

export function EpochTable({ epochs, from, to, pick }: EpochTableProps) {
  return (
    <div class="table epochs as-cards" role="region" aria-label="Epochs" tabIndex={0}>
      <table role="table">
        <thead role="rowgroup">
          <tr role="row"><th role="columnheader" scope="col">Before</th><th role="columnheader" scope="col">After</th><th role="columnheader" scope="col">Epoch</th><th role="columnheader" scope="col">Opened</th><th role="columnheader" scope="col">Why</th><th role="columnheader" scope="col">Trust</th><th role="columnheader" scope="col" class="number">Tokens</th><th role="columnheader" scope="col">Fingerprint</th></tr>
        </thead>
        <tbody role="rowgroup">
          {epochs.map((epoch) => (
            <tr role="row" key={epoch.number}>
              <td role="cell" data-label="before"><input type="radio" name="before" aria-label={`Epoch ${epoch.number} as the one before`} checked={epoch.number === from} onChange={() => pick({ from: epoch.number })} /></td>
              <td role="cell" data-label="after"><input type="radio" name="after" aria-label={`Epoch ${epoch.number} as the one after`} checked={epoch.number === to} onChange={() => pick({ to: epoch.number })} /></td>
              <th role="rowheader" scope="row"><span class="word">Epoch </span>{epoch.number}{epoch.inForce && <> <span class="mark good">in force</span></>}</th>
              <td role="cell" data-label="opened"><When at={epoch.opened_at} /></td>
              <td role="cell" class="why"><Ticked words={epoch.because ?? REASONS[epoch.reason] ?? epoch.reason} />{versions(epoch) && <div class="quiet">{versions(epoch)}</div>}</td>
              <td role="cell" data-label="trust"><Trust of={epoch.trust} /></td>
              <td role="cell" class="number" data-label="tokens">{count(epoch.tokens)}</td>
              <td role="cell" data-label="fingerprint"><code title={epoch.fingerprint}>{shortHash(epoch.fingerprint)}</code></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What of it has versions, such as `template v3, layer 6 v4`. */
function versions(epoch: Epoch): string {
  const layers = Object.entries(epoch.layer_versions).map(([layer, version]) => `layer ${layer} v${version}`);
  return [epoch.template_version && `template v${epoch.template_version}`, ...layers].filter(Boolean).join(", ");
}
