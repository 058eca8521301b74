// From the server's places (line and column, in characters) to the editor's (offsets in UTF-16), for underlining and for jumping.
import type { Diagnostic } from "@codemirror/lint";
import type { Text } from "@codemirror/state";
import type { CheckedTemplate, ProblemPlace } from "../../api/schema";

export interface Found extends Diagnostic {
  severity: "error" | "warning";
  line: number;
  column: number;
  what: string;
  help: string | null;
}

export function foundIn(doc: Text, checked: CheckedTemplate): Found[] {
  const all = [
    ...checked.problems.map((place) => found(doc, place, "error")),
    ...checked.warnings.map((place) => found(doc, place, "warning")),
  ];
  return all.sort((a, b) => a.from - b.from || a.to - b.to);
}

function found(doc: Text, place: ProblemPlace, severity: Found["severity"]): Found {
  const line = within(place.line ?? 1, doc.lines);
  const column = Math.max(1, place.column ?? 1);
  const from = offset(doc, line, column);
  const ends = place.end_column ? offset(doc, within(place.end_line ?? line, doc.lines), place.end_column) : wordEnd(doc, from);
  // Nothing can't be underlined: at the end of a line, the character before takes its place.
  const to = Math.max(ends, from);
  const start = to === from && from > doc.line(line).from ? from - 1 : from;
  const help = place.help ?? null;
  return { from: start, to, severity, line, column, what: place.message, help, message: help ? `${place.message}\n${help}` : place.message };
}

function within(line: number, lines: number): number {
  return Math.min(Math.max(line, 1), lines);
}

/** Where a column is; past the end of its line it is the end. */
function offset(doc: Text, line: number, column: number): number {
  const there = doc.line(line);
  let units = 0;
  let characters = 1;
  for (const character of there.text) {
    if (characters >= column) break;
    units += character.length;
    characters += 1;
  }
  return there.from + units;
}

function wordEnd(doc: Text, from: number): number {
  const line = doc.lineAt(from);
  const rest = line.text.slice(from - line.from);
  const word = /^[\p{L}\p{N}_:./-]+|^./u.exec(rest)?.[0] ?? "";
  return from + word.length;
}
