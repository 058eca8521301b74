// Tokenises the Jinja dialect: `{{ }}`, `{% %}`, `{# #}`, and the keywords and strings in them.

import { JINJA_KEYWORDS } from "./keywords";
import type { SyntaxToken } from "./syntax_token";

const CLOSES: Record<string, string> = { "{{": "}}", "{%": "%}" };

export function jinjaTokens(text: string): SyntaxToken[] {
  const marks: SyntaxToken[] = [];
  const begin = /\{[{%#]/g;
  for (let found = begin.exec(text); found; found = begin.exec(text)) {
    const end = found[0] === "{#" ? comment(text, found.index, marks) : inside(text, found.index, found[0], marks);
    // An unclosed tag is text up to the end; the server reports it.
    if (end === undefined) break;
    begin.lastIndex = end;
  }
  return marks;
}

function comment(text: string, from: number, marks: SyntaxToken[]): number | undefined {
  const close = text.indexOf("#}", from + 2);
  if (close < 0) return undefined;
  marks.push({ from, to: close + 2, kind: "comment" });
  return close + 2;
}

const PIECE = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[A-Za-z_]\w*|[-+]?[%}]\}|\S/gs;

/** Reads one `{{ … }}` or `{% … %}` and returns where to continue. */
function inside(text: string, from: number, opens: string, marks: SyntaxToken[]): number | undefined {
  const closes = CLOSES[opens] ?? "}}";
  const mine: SyntaxToken[] = [{ from, to: from + 2, kind: "bracket" }];
  PIECE.lastIndex = from + 2;
  let first: string | undefined;
  for (let piece = PIECE.exec(text); piece; piece = PIECE.exec(text)) {
    const at = { from: piece.index, to: piece.index + piece[0].length };
    if (piece[0].endsWith(closes)) {
      marks.push(...mine, { ...at, kind: "bracket" });
      return opens === "{%" && first === "raw" ? afterRaw(text, at.to) : at.to;
    }
    const kind = kindOf(piece[0]);
    if (kind) mine.push({ ...at, kind });
    if (/^[A-Za-z]/.test(piece[0])) first ??= piece[0];
  }
  return undefined;
}

/** A raw block is text up to its end. */
function afterRaw(text: string, from: number): number | undefined {
  const end = /\{%[-+]?\s*endraw\b/g;
  end.lastIndex = from;
  return end.exec(text)?.index;
}

function kindOf(piece: string): SyntaxToken["kind"] | undefined {
  if (piece.startsWith('"') || piece.startsWith("'")) return piece.length > 1 ? "string" : undefined;
  if (!/^[A-Za-z_]/.test(piece)) return undefined;
  return JINJA_KEYWORDS.has(piece) ? "word" : "name";
}
