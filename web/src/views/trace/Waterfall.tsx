// The spans of a turn as a waterfall. It is a table, so that screen readers announce the column headings. Arrow keys
// move between rows, and Enter shows the fields of a row.
import { Fragment } from "preact";
import { useRef, useState } from "preact/hooks";
import { showBidiControls } from "../../parts/bidi";
import { eventName } from "../../parts/event_names";
import { count, duration, money, share, UNCHARGED } from "../../parts/format";
import { SpanFields } from "./SpanFields";
import { barOf, type Scale } from "./scale";
import type { Row } from "./spans";

export function Waterfall({ rows, scale }: { rows: Row[]; scale: Scale }) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [current, setCurrent] = useState(rows[0]?.id);
  const body = useRef<HTMLTableSectionElement>(null);
  const toggle = (id: string) => {
    setCurrent(id);
    setOpen((before) => (before.has(id) ? new Set([...before].filter((one) => one !== id)) : new Set([...before, id])));
  };
  const walk = (event: KeyboardEvent) => {
    if (!(event.target instanceof HTMLElement) || !event.target.matches("[data-span]")) return;
    const at = rows.findIndex((row) => row.id === current);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
    const row = to === undefined ? undefined : rows[to];
    if (to === undefined) return;
    event.preventDefault();
    if (!row) return;
    setCurrent(row.id);
    body.current?.querySelector<HTMLElement>(`[data-span="${row.id}"]`)?.focus();
  };
  if (rows.length === 0) return <p class="quiet">No events of this turn are left: they are kept for a limited time.</p>;
  const stop = rows.some((row) => row.id === current) ? current : rows[0]?.id;
  return (
    <section aria-labelledby="waterfall">
      <h2 id="waterfall">Waterfall</h2>
      <p class="quiet">
        Each bar shows its position in the {duration(scale.whole)} of the turn. <kbd>↑</kbd> <kbd>↓</kbd> move between
        spans, <kbd>Enter</kbd> shows its fields.
      </p>
      <div class="table waterfall as-cards">
        <table role="table" aria-labelledby="waterfall">
          <thead role="rowgroup">
            <tr role="row">
              <th role="columnheader" scope="col">
                Step
              </th>
              <th role="columnheader" scope="col" class="axis">
                <span class="visually-hidden">Start</span>
                <Axis scale={scale} />
              </th>
              <th role="columnheader" scope="col" class="number">
                Took
              </th>
              <th role="columnheader" scope="col" class="number">
                Tokens
              </th>
              <th role="columnheader" scope="col" class="number">
                Cost
              </th>
            </tr>
          </thead>
          <tbody role="rowgroup" ref={body} onKeyDown={walk}>
            {rows.map((row) => (
              <Fragment key={row.id}>
                <SpanRow
                  row={row}
                  scale={scale}
                  open={open.has(row.id)}
                  stop={row.id === stop}
                  toggle={() => toggle(row.id)}
                />
                {open.has(row.id) && (
                  <tr role="row" class="opened">
                    <td role="cell" colSpan={5} id={`fields-${row.id}`}>
                      <SpanFields row={row} />
                    </td>
                  </tr>
                )}
              </Fragment>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Axis({ scale }: { scale: Scale }) {
  return (
    <span class="ticks" aria-hidden="true">
      {scale.ticks.map((tick) => (
        <span key={tick} style={{ left: `${(tick / scale.whole) * 100}%` }}>
          {tick === 0 ? "0" : duration(tick)}
        </span>
      ))}
    </span>
  );
}

interface SpanRowProps {
  row: Row;
  scale: Scale;
  open: boolean;
  /** Whether the row is a tab stop (roving tabindex). */
  stop: boolean;
  toggle: () => void;
}

function SpanRow({ row, scale, open, stop, toggle }: SpanRowProps) {
  const bar = barOf(row, scale);
  return (
    <tr
      role="row"
      data-kind={row.kind}
      class={`span${row.error ? (row.fatal ? " fatal" : " warned") : ""}`}
      onClick={(event) => !(event.target as HTMLElement).closest("a, button") && toggle()}
    >
      <th role="rowheader" scope="row" class="step">
        <div style={{ paddingLeft: `${row.depth * 1.1}rem` }}>
          <button
            type="button"
            class="plain"
            data-span={row.id}
            aria-expanded={open}
            aria-controls={`fields-${row.id}`}
            tabIndex={stop ? 0 : -1}
            onClick={toggle}
          >
            {row.depth > 0 && <span class="visually-hidden">Level {row.depth + 1}: </span>}
            {eventName(row.span.name)}
          </button>
          {row.words && <span class="words quiet wrap">{showBidiControls(row.words)}</span>}
          {row.error && (
            <p class="error wrap">
              <span aria-hidden="true">{row.fatal ? "✕" : "!"}</span> {row.fatal ? "error" : "warning"}:{" "}
              {showBidiControls(row.error)}
            </p>
          )}
        </div>
      </th>
      <td role="cell" class="time">
        <span class="visually-hidden">at {duration(row.span.offset_ms)}</span>
        <span
          class="track"
          aria-hidden="true"
          title={`starts after ${duration(row.span.offset_ms)}, takes ${duration(row.span.duration_ms)}`}
        >
          <span
            class="span-bar"
            style={{ left: `min(${bar.left * 100}%, 100% - 5px)`, width: `${bar.width * 100}%` }}
          />
        </span>
      </td>
      <td role="cell" class="number" data-label="took">
        {duration(row.span.duration_ms)}
      </td>
      <td role="cell" class="number" data-label="tokens">
        <Tokens row={row} />
      </td>
      <td role="cell" class="number" data-label="cost" title={row.uncharged ? UNCHARGED : undefined}>
        {row.uncharged ? "–" : row.cost === null ? "" : money(row.cost)}
      </td>
    </tr>
  );
}

function Tokens({ row }: { row: Row }) {
  if (!row.tokensIn && !row.tokensOut) return null;
  return (
    <>
      {count(row.tokensIn)} in, {count(row.tokensOut)} out
      {row.tokensIn && row.cacheRead !== null ? (
        <span class="cached quiet">{share(row.cacheRead / row.tokensIn)} cached</span>
      ) : null}
    </>
  );
}
