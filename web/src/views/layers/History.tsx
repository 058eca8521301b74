// Every version of a layer: who, when and why; any two side by side; and the way back.
import { useState } from "preact/hooks";
import { usePages } from "../../api/pages";
import type { LayerBody, VersionBody } from "../../api/schema";
import { Diff } from "../../parts/editor/Diff";
import { When, count } from "../../parts/figures";
import { Listed } from "../../parts/list";
import { Empty } from "../../parts/told";
import { href } from "../../shell/router";
import { useSession } from "../../shell/session";
import { type LayersOf, history } from "./asks";
import { RollBack } from "./RollBack";
import { characters } from "./room";
import { originWords, writerWords } from "./words";

export function History({ of, body, refresh }: { of: LayersOf; body: LayerBody; refresh: () => void }) {
  const { owner } = useSession();
  const pages = usePages(`${of.agent} ${body.id} ${body.version}`, (after, signal) => history(of.agent, body.id, after, signal));
  const [pair, setPair] = useState<[number, number]>();
  const [back, setBack] = useState<VersionBody>();
  const current = body.version ?? 0;
  const empty = <Empty title="No version is stored yet"><p>The layer has the program's text. Edit it, and its versions are here.</p></Empty>;
  return (
    <Listed pages={pages} what="History" empty={empty}>
      {(items) => (
        <div class="stack-of">
          <ol class="versions" aria-label="Versions">
            {items.map((item) => (
              <li key={item.version}>
                <Told item={item} current={current} />
                <div class="row">
                  {item.version !== current && <button onClick={() => setPair([item.version, current])} aria-label={`Compare version ${item.version} with version ${current}`}>Compare</button>}
                  {owner && item.version !== current && <button onClick={() => setBack(item)} aria-label={`Roll back to version ${item.version}`}>Roll back …</button>}
                </div>
              </li>
            ))}
          </ol>
          {items.length > 1 && <Pair items={items} pair={pair ?? likely(items)} choose={setPair} />}
          {back && <RollBack of={of} body={body} to={back} close={() => setBack(undefined)} done={() => { setBack(undefined); setPair(undefined); refresh(); }} />}
        </div>
      )}
    </Listed>
  );
}

function likely(items: VersionBody[]): [number, number] {
  return [items[1]?.version ?? 1, items[0]?.version ?? 1];
}

function Told({ item, current }: { item: VersionBody; current: number }) {
  return (
    <div class="grow">
      <p class="row">
        <strong>Version {item.version}</strong>
        {item.version === current && <span class="mark good">✓ in force</span>}
        {!item.in_force && <span class="mark waiting" title="A newer text of the program's; it was never used">on record only</span>}
        <span class="quiet">{originWords(item)}</span>
      </p>
      <p class="quiet">{writerWords(item.writer)}, <When at={item.at} />, {count(characters(item.content))} characters{item.turn && <>, <a href={href("trace", [item.turn])}>its turn</a></>}</p>
      {item.message && <p class="wrap">{item.message}</p>}
    </div>
  );
}

function Pair({ items, pair, choose }: { items: VersionBody[]; pair: [number, number]; choose: (pair: [number, number]) => void }) {
  const text = (version: number) => items.find((item) => item.version === version)?.content ?? "";
  const [before, after] = pair;
  return (
    <section class="stack-of" aria-label="Compare">
      <div class="row">
        <Which label="Before" items={items} value={before} choose={(version) => choose([version, after])} />
        <Which label="After" items={items} value={after} choose={(version) => choose([before, version])} />
      </div>
      <Diff before={text(before)} after={text(after)} labels={[`Version ${before}`, `Version ${after}`]} />
    </section>
  );
}

function Which({ label, items, value, choose }: { label: string; items: VersionBody[]; value: number; choose: (version: number) => void }) {
  return (
    <label class="field">{label}
      <select value={value} onChange={(event) => choose(Number(event.currentTarget.value))}>
        {items.map((item) => <option key={item.version} value={item.version}>{`Version ${item.version}, ${writerWords(item.writer)}`}</option>)}
      </select>
    </label>
  );
}
