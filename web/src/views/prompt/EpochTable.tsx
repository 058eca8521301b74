// The epochs, newest first, and the selection of two to compare. Rows become cards on a phone, so the roles are
// explicit.
import type { FrozenPrompt } from "../../api/schema";
import { TrustBadge } from "../../parts/badges";
import { CodeText } from "../../parts/code_text";
import { count, Timestamp } from "../../parts/format";
import { shortHash } from "./LayerFacts";

export type Epoch = FrozenPrompt["epochs"]["items"][number] & { inForce: boolean };

const REASONS: Record<string, string> = {
  first_turn: "first turn",
  compaction: "the conversation was compacted",
  trust_fell: "trust fell",
  changed: "a source changed",
  cache_cold: "the provider's cache had expired, and there were changes",
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
          <tr role="row">
            <th role="columnheader" scope="col">
              Before
            </th>
            <th role="columnheader" scope="col">
              After
            </th>
            <th role="columnheader" scope="col">
              Epoch
            </th>
            <th role="columnheader" scope="col">
              Opened
            </th>
            <th role="columnheader" scope="col">
              Why
            </th>
            <th role="columnheader" scope="col">
              Trust
            </th>
            <th role="columnheader" scope="col" class="number">
              Tokens
            </th>
            <th role="columnheader" scope="col">
              Fingerprint
            </th>
          </tr>
        </thead>
        <tbody role="rowgroup">
          {epochs.map((epoch) => (
            <tr role="row" key={epoch.number}>
              <td role="cell" data-label="before">
                <input
                  type="radio"
                  name="before"
                  aria-label={`Epoch ${epoch.number} as the one before`}
                  checked={epoch.number === from}
                  onChange={() => pick({ from: epoch.number })}
                />
              </td>
              <td role="cell" data-label="after">
                <input
                  type="radio"
                  name="after"
                  aria-label={`Epoch ${epoch.number} as the one after`}
                  checked={epoch.number === to}
                  onChange={() => pick({ to: epoch.number })}
                />
              </td>
              <th role="rowheader" scope="row">
                <span class="word">Epoch </span>
                {epoch.number}
                {epoch.inForce && (
                  <>
                    {" "}
                    <span class="badge good">in force</span>
                  </>
                )}
              </th>
              <td role="cell" data-label="opened">
                <Timestamp at={epoch.opened_at} />
              </td>
              <td role="cell" class="why">
                <CodeText words={epoch.because ?? REASONS[epoch.reason] ?? epoch.reason} />
                {versions(epoch) && <div class="quiet">{versions(epoch)}</div>}
              </td>
              <td role="cell" data-label="trust">
                <TrustBadge of={epoch.trust} />
              </td>
              <td role="cell" class="number" data-label="tokens">
                {count(epoch.tokens)}
              </td>
              <td role="cell" data-label="fingerprint">
                <code title={epoch.fingerprint}>{shortHash(epoch.fingerprint)}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The versioned sources, such as `template v3, layer 6 v4`. */
function versions(epoch: Epoch): string {
  const layers = Object.entries(epoch.layer_versions).map(([layer, version]) => `layer ${layer} v${version}`);
  return [epoch.template_version && `template v${epoch.template_version}`, ...layers].filter(Boolean).join(", ");
}
