// All versions with author, time and reason; each can be compared, edited or restored.

import type { Pages } from "../../api/pages";
import type { TemplateVersion } from "../../api/schema";
import { count, Timestamp } from "../../parts/format";
import { PagedList } from "../../parts/list";
import { EmptyState } from "../../parts/states";

export interface VersionsProps {
  pages: Pages<TemplateVersion>;
  current: number;
  compare: (version: number) => void;
  editFrom: (version: number) => void;
  restore: (version: number) => void;
}

export function Versions({ pages, current, compare, editFrom, restore }: VersionsProps) {
  const empty = (
    <EmptyState title="No versions yet">
      <p>The template is a file or the built-in text. Saving creates version 1.</p>
    </EmptyState>
  );
  return (
    <PagedList pages={pages} what="Versions" empty={empty}>
      {(items) => (
        <ol class="versions" aria-label="Versions">
          {items.map((item) => (
            <li key={item.version}>
              <div class="grow">
                <p class="row">
                  <strong>Version {item.version}</strong>
                  {item.version === current && <span class="badge good">✓ in force</span>}
                  <span class="quiet">
                    {item.author}, <Timestamp at={item.at} />
                  </span>
                  <span class="quiet number">{count(item.chars)} characters</span>
                </p>
                <p class={item.message ? "wrap" : "quiet"}>{item.message ?? "No reason given."}</p>
              </div>
              <div class="row">
                <button
                  type="button"
                  onClick={() => compare(item.version)}
                  aria-label={`Compare version ${item.version}`}
                >
                  Compare
                </button>
                <button
                  type="button"
                  onClick={() => editFrom(item.version)}
                  aria-label={`Edit from version ${item.version}`}
                >
                  Edit from here
                </button>
                {item.version !== current && (
                  <button
                    type="button"
                    onClick={() => restore(item.version)}
                    aria-label={`Restore version ${item.version}`}
                  >
                    Restore …
                  </button>
                )}
              </div>
            </li>
          ))}
        </ol>
      )}
    </PagedList>
  );
}
