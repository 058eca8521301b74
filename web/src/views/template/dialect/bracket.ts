// Tokenises the bracket dialect by the rules in docs/templates.md. What the server treats as text is not a token here.
import type { SyntaxToken } from "./syntax_token";

export interface BracketRules {
  /** The known types, such as `system`. */
  types: ReadonlySet<string>;
  /** `bracket-compat`: unknown types are tags, `[[` is not an escape, and a tag may span lines. */
  compat: boolean;
}

interface Open {
  marks: SyntaxToken[];
  /** A condition on an unknown type: its tags stay text. */
  live: boolean;
  hasElse: boolean;
}

export function bracketTokens(text: string, rules: BracketRules): SyntaxToken[] {
  const marks: SyntaxToken[] = [];
  const open: Open[] = [];
  const tag = rules.compat ? /\[([^[\]]*)\]/g : /\[\[|\[([^[\]\n]*)\]/g;
  for (let found = tag.exec(text); found; found = tag.exec(text)) {
    const at = { from: found.index, to: found.index + found[0].length };
    if (found[1] === undefined) marks.push({ ...at, kind: "literal" });
    else read(found[1].trim(), at, rules, marks, open);
  }
  return marks.sort((a, b) => a.from - b.from);
}

function read(
  body: string,
  at: { from: number; to: number },
  rules: BracketRules,
  marks: SyntaxToken[],
  open: Open[],
): void {
  const condition = /^if\s+!?\s*(.*)$/s.exec(body);
  const top = open.at(-1);
  if (condition) {
    const type = variableType(condition[1] ?? "");
    if (type !== undefined)
      open.push({ marks: [{ ...at, kind: "condition" }], live: isTag(type, rules), hasElse: false });
  } else if (body === "else") {
    if (top && !top.hasElse) {
      top.hasElse = true;
      top.marks.push({ ...at, kind: "condition" });
    }
  } else if (body === "endif") {
    const closed = open.pop();
    if (closed?.live) marks.push(...closed.marks, { ...at, kind: "condition" });
  } else {
    const type = variableType(body);
    if (type !== undefined && isTag(type, rules)) marks.push({ ...at, kind: "variable" });
  }
}

/** The type of `type:name`, if it has that form. */
function variableType(body: string): string | undefined {
  return /^([^\s:]+):\s*\S/s.exec(body)?.[1];
}

function isTag(type: string, rules: BracketRules): boolean {
  return rules.compat || rules.types.has(type);
}
