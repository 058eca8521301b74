// All fields of a span's events, with ids last.

import { showBidiControls } from "../../parts/bidi";
import { eventName } from "../../parts/event_names";
import { duration, Timestamp } from "../../parts/format";
import { href } from "../../shell/router";
import { fieldsOf, labelOf, type Value } from "./fields";
import type { Row } from "./spans";

export function SpanFields({ row }: { row: Row }) {
  if (row.span.events.length === 0)
    return (
      <p class="quiet">
        No events: {duration(row.span.duration_ms)}, from {duration(row.span.offset_ms)} on.
      </p>
    );
  return (
    <div class="span-fields">
      {row.span.events.map((event, at) => (
        <table key={event.id ?? at}>
          <caption>
            {eventName(event.event_type)}{" "}
            <span class="quiet">
              <Timestamp at={event.timestamp} as="clock" />
            </span>
          </caption>
          <tbody>
            {fieldsOf(event).map((field) => (
              <tr key={`${field.own}${field.name}`}>
                <th scope="row" title={showBidiControls(field.name)}>
                  {showBidiControls(labelOf(field.name))}
                </th>
                <td>
                  <Shown value={field.value} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      ))}
    </div>
  );
}

/** A prefix distinguishes hashes; the tooltip has the whole hash. */
function shortened(cell: string): string {
  return /^[a-z0-9]+:[0-9a-f]{40,}$/.test(cell) ? `${cell.slice(0, 19)}…` : cell;
}

function Shown({ value }: { value: Value }) {
  switch (value.is) {
    case "text":
      return <span class="wrap">{showBidiControls(value.text)}</span>;
    case "time":
      return (
        <>
          <Timestamp at={value.at} as="full" /> <code>{value.at}</code>
        </>
      );
    case "conversation":
      return (
        <a class="wrap" href={href("conversations", [value.id])}>
          {showBidiControls(value.id)}
        </a>
      );
    case "turn":
      return (
        <a class="wrap" href={href("trace", [value.id])}>
          {showBidiControls(value.id)}
        </a>
      );
    case "table":
      return (
        <table class="nested">
          <thead>
            <tr>
              {value.columns.map((column) => (
                <th key={column} scope="col">
                  {showBidiControls(labelOf(column))}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {value.rows.map((cells, at) => (
              <tr key={at}>
                {cells.map((cell, column) => (
                  <td key={column} title={showBidiControls(cell)}>
                    {showBidiControls(shortened(cell))}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      );
  }
}
