// Every field of a span's events. The type's own fields are there with the others; only ids come last.
import { eventName } from "../../parts/event_names";
import { When, duration } from "../../parts/figures";
import { visible } from "../../parts/visible";
import { href } from "../../shell/router";
import { type Value, fieldsOf, labelOf } from "./fields";
import type { Row } from "./spans";

export function SpanFields({ row }: { row: Row }) {
  if (row.span.events.length === 0)
    return <p class="quiet">Nothing but time passed here: {duration(row.span.duration_ms)}, from {duration(row.span.offset_ms)} on.</p>;
  return (
    <div class="span-fields">
      {row.span.events.map((event, at) => (
        <table key={event.id ?? at}>
          <caption>{eventName(event.event_type)} <span class="quiet"><When at={event.timestamp} as="clock" /></span></caption>
          <tbody>{fieldsOf(event).map((field) => (
            <tr key={`${field.own}${field.name}`}><th scope="row" title={visible(field.name)}>{visible(labelOf(field.name))}</th><td><Shown value={field.value} /></td></tr>
          ))}</tbody>
        </table>
      ))}
    </div>
  );
}

/** Hashes are told apart by their beginning; the whole is behind it for whoever wants to compare. */
function shortened(cell: string): string {
  return /^[a-z0-9]+:[0-9a-f]{40,}$/.test(cell) ? `${cell.slice(0, 19)}…` : cell;
}

function Shown({ value }: { value: Value }) {
  switch (value.is) {
    case "text":
      return <span class="wrap">{visible(value.text)}</span>;
    case "time":
      return <><When at={value.at} as="full" /> <code>{value.at}</code></>;
    case "conversation":
      return <a class="wrap" href={href("conversations", [value.id])}>{visible(value.id)}</a>;
    case "turn":
      return <a class="wrap" href={href("trace", [value.id])}>{visible(value.id)}</a>;
    case "table":
      return (
        <table class="nested">
          <thead><tr>{value.columns.map((column) => <th key={column} scope="col">{visible(labelOf(column))}</th>)}</tr></thead>
          <tbody>{value.rows.map((cells, at) => <tr key={at}>{cells.map((cell, column) => <td key={column} title={visible(cell)}>{visible(shortened(cell))}</td>)}</tr>)}</tbody>
        </table>
      );
  }
}
