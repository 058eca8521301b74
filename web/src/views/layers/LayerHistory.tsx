// The versions of a layer with author, time and reason; compares any two and rolls back.
import { useState } from "preact/hooks";
import { usePages } from "../../api/pages";
import type { LayerBody, VersionBody } from "../../api/schema";
import { Diff } from "../../parts/editor/Diff";
import { count, Timestamp } from "../../parts/format";
import { PagedList } from "../../parts/list";
import { EmptyState } from "../../parts/states";
import { href } from "../../shell/router";
import { useSession } from "../../shell/session";
import { authorText, originText } from "./labels";
import { RollBack } from "./RollBack";
import { characters } from "./remaining";
import { history, type LayersOf } from "./requests";

export function LayerHistory({ of, body, refresh }: { of: LayersOf; body: LayerBody; refresh: () => void }) {
  const { owner } = useSession();
  const pages = usePages(`${of.agent} ${body.id} ${body.version}`, (after, signal) =>
    history(of.agent, body.id, after, signal),
  );
  const [pair, setPair] = useState<[number, number]>();
  const [back, setBack] = useState<VersionBody>();
  const current = body.version ?? 0;
  const empty = (
    <EmptyState title="No versions yet">
      <p>The layer has the built-in text. Edit it to create a version.</p>
    </EmptyState>
  );
  return (
    <PagedList pages={pages} what="History" empty={empty}>
      {(items) => (
        <div class="vertical-stack">
          <ol class="versions" aria-label="Versions">
            {items.map((item) => (
              <li key={item.version}>
                <VersionFacts item={item} current={current} />
                <div class="row">
                  {item.version !== current && (
                    <button
                      type="button"
                      onClick={() => setPair([item.version, current])}
                      aria-label={`Compare version ${item.version} with version ${current}`}
                    >
                      Compare
                    </button>
                  )}
                  {owner && item.version !== current && (
                    <button
                      type="button"
                      onClick={() => setBack(item)}
                      aria-label={`Roll back to version ${item.version}`}
                    >
                      Roll back …
                    </button>
                  )}
                </div>
              </li>
            ))}
          </ol>
          {items.length > 1 && <VersionPairPicker items={items} pair={pair ?? defaultPair(items)} choose={setPair} />}
          {back && (
            <RollBack
              of={of}
              body={body}
              to={back}
              close={() => setBack(undefined)}
              done={() => {
                setBack(undefined);
                setPair(undefined);
                refresh();
              }}
            />
          )}
        </div>
      )}
    </PagedList>
  );
}

function defaultPair(items: VersionBody[]): [number, number] {
  return [items[1]?.version ?? 1, items[0]?.version ?? 1];
}

function VersionFacts({ item, current }: { item: VersionBody; current: number }) {
  return (
    <div class="grow">
      <p class="row">
        <strong>Version {item.version}</strong>
        {item.version === current && <span class="badge good">✓ in force</span>}
        {!item.in_force && (
          <span class="badge waiting" title="A newer built-in text that was never used">
            on record only
          </span>
        )}
        <span class="quiet">{originText(item)}</span>
      </p>
      <p class="quiet">
        {authorText(item.writer)}, <Timestamp at={item.at} />, {count(characters(item.content))} characters
        {item.turn && (
          <>
            , <a href={href("trace", [item.turn])}>its turn</a>
          </>
        )}
      </p>
      {item.message && <p class="wrap">{item.message}</p>}
    </div>
  );
}

function VersionPairPicker({
  items,
  pair,
  choose,
}: {
  items: VersionBody[];
  pair: [number, number];
  choose: (pair: [number, number]) => void;
}) {
  const text = (version: number) => items.find((item) => item.version === version)?.content ?? "";
  const [before, after] = pair;
  return (
    <section class="vertical-stack" aria-label="Compare">
      <div class="row">
        <VersionChoice label="Before" items={items} value={before} choose={(version) => choose([version, after])} />
        <VersionChoice label="After" items={items} value={after} choose={(version) => choose([before, version])} />
      </div>
      <Diff before={text(before)} after={text(after)} labels={[`Version ${before}`, `Version ${after}`]} />
    </section>
  );
}

function VersionChoice({
  label,
  items,
  value,
  choose,
}: {
  label: string;
  items: VersionBody[];
  value: number;
  choose: (version: number) => void;
}) {
  return (
    <label class="field">
      {label}
      <select value={value} onChange={(event) => choose(Number(event.currentTarget.value))}>
        {items.map((item) => (
          <option
            key={item.version}
            value={item.version}
          >{`Version ${item.version}, ${authorText(item.writer)}`}</option>
        ))}
      </select>
    </label>
  );
}
