// Every version there was: who, when and why; to compare, to go on writing from, or to have back.
import type { TemplateVersion } from "../../api/schema";
import type { Pages } from "../../api/pages";
import { When, count } from "../../parts/figures";
import { Listed } from "../../parts/list";
import { Empty } from "../../parts/told";

export interface VersionsProps {
  pages: Pages<TemplateVersion>;
  current: number;
  compare: (version: number) => void;
  editFrom: (version: number) => void;
  restore: (version: number) => void;
}

export function Versions({ pages, current, compare, editFrom, restore }: VersionsProps) {
  const empty = <Empty title="No version is stored yet"><p>The template comes from a file or from the program. Save a text, and it is version 1.</p></Empty>;
  return (
    <Listed pages={pages} what="Versions" empty={empty}>
      {(items) => (
        <ol class="versions" aria-label="Versions">
          {items.map((item) => (
            <li key={item.version}>
              <div class="grow">
                <p class="row">
                  <strong>Version {item.version}</strong>
                  {item.version === current && <span class="mark good">✓ in force</span>}
                  <span class="quiet">{item.author}, <When at={item.at} /></span>
                  <span class="quiet number">{count(item.chars)} characters</span>
                </p>
                <p class={item.message ? "wrap" : "quiet"}>{item.message ?? "No reason given."}</p>
              </div>
              <div class="row">
                <button onClick={() => compare(item.version)} aria-label={`Compare version ${item.version}`}>Compare</button>
                <button onClick={() => editFrom(item.version)} aria-label={`Edit from version ${item.version}`}>Edit from here</button>
                {item.version !== current && <button onClick={() => restore(item.version)} aria-label={`Restore version ${item.version}`}>Restore …</button>}
              </div>
            </li>
          ))}
        </ol>
      )}
    </Listed>
  );
}
