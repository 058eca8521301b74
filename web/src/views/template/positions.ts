// Converts server positions (line and column in characters) to editor offsets (UTF-16 code units).
import type { Diagnostic } from "@codemirror/lint";
import type { Text } from "@codemirror/state";
import type { CheckedTemplate, ProblemLocation } from "../../api/schema";

export interface TemplateProblem extends Diagnostic {
  severity: "error" | "warning";
  line: number;
  column: number;
  what: string;
  help: string | null;
}

export function problemsIn(doc: Text, checked: CheckedTemplate): TemplateProblem[] {
  const all = [
    ...checked.problems.map((problem) => found(doc, problem, "error")),
    ...checked.warnings.map((problem) => found(doc, problem, "warning")),
  ];
  return all.sort((a, b) => a.from - b.from || a.to - b.to);
}

function found(doc: Text, problem: ProblemLocation, severity: TemplateProblem["severity"]): TemplateProblem {
  const line = within(problem.line ?? 1, doc.lines);
  const column = Math.max(1, problem.column ?? 1);
  const from = offset(doc, line, column);
  const ends = problem.end_column
    ? offset(doc, within(problem.end_line ?? line, doc.lines), problem.end_column)
    : wordEnd(doc, from);
  // An empty range cannot be underlined: at the end of a line, use the character before.
  const to = Math.max(ends, from);
  const start = to === from && from > doc.line(line).from ? from - 1 : from;
  const help = problem.help ?? null;
  return {
    from: start,
    to,
    severity,
    line,
    column,
    what: problem.message,
    help,
    message: help ? `${problem.message}\n${help}` : problem.message,
  };
}

function within(line: number, lines: number): number {
  return Math.min(Math.max(line, 1), lines);
}

/** The offset of a column, clamped to the end of its line. */
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
