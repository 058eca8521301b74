// Completion for both dialects.
import {
  type Completion,
  type CompletionContext,
  type CompletionResult,
  type CompletionSource,
  snippetCompletion,
} from "@codemirror/autocomplete";
import type { EditorView } from "@codemirror/view";
import type { Variable } from "../../../api/schema";
import { JINJA_FILTERS, JINJA_FUNCTIONS, JINJA_STATEMENTS, JINJA_TESTS, JINJA_VARIABLES } from "./keywords";

export function bracketCompletion(variables: Variable[]): CompletionSource {
  const whole = [...variables.map(wholeTag), ...BLOCKS];
  const names = variables.map(conditionName);
  return (context: CompletionContext): CompletionResult | null => {
    const condition = context.matchBefore(/\[\s*if\s+!?\s*[^[\]\s]*/);
    if (condition) {
      const written = /[^\s!]*$/.exec(condition.text.replace(/^\[\s*if/, ""))?.[0] ?? "";
      return { from: context.pos - written.length, options: names, validFor: /^[^[\]\s!]*$/ };
    }
    const tag = context.matchBefore(/\[[^[\]\n]*/);
    if (tag) return { from: tag.from, options: whole, validFor: /^\[[^[\]\n]*$/ };
    return context.explicit ? { from: context.pos, options: whole } : null;
  };
}

const BLOCKS: Completion[] = [
  snippetCompletion("[if ${git:branch}]${}[endif]", {
    label: "[if …][endif]",
    detail: "only if it exists",
    boost: -1,
  }),
  snippetCompletion("[if ${git:branch}]${}[else]${}[endif]", {
    label: "[if …][else][endif]",
    detail: "with an alternative",
    boost: -1,
  }),
  snippetCompletion("[if !${git:branch}]${}[endif]", {
    label: "[if !…][endif]",
    detail: "only if it is missing",
    boost: -1,
  }),
  { label: "[else]", detail: "otherwise", boost: -2, apply: inserting("[else]") },
  { label: "[endif]", detail: "the end of a condition", boost: -2, apply: inserting("[endif]") },
  { label: "[[", detail: "one [ as text", boost: -3, apply: inserting("[[") },
];

function wholeTag(variable: Variable): Completion {
  if (variable.dynamic)
    return snippetCompletion(`[${variable.type}:\${path}]`, {
      label: `[${variable.type}:…]`,
      detail: variable.description,
    });
  const tag = `[${variable.type}:${variable.name}]`;
  return { label: tag, detail: variable.description, apply: inserting(tag) };
}

function conditionName(variable: Variable): Completion {
  if (variable.dynamic)
    return snippetCompletion(`${variable.type}:\${path}`, {
      label: `${variable.type}:…`,
      detail: variable.description,
    });
  const name = `${variable.type}:${variable.name}`;
  return { label: name, detail: variable.description, apply: inserting(`${name}]`) };
}

/** Inserts `text` and overwrites an existing `]`. */
function inserting(text: string): (view: EditorView, completion: Completion, from: number, to: number) => void {
  return (view, _, from, to) => {
    const over = text.endsWith("]") && view.state.sliceDoc(to, to + 1) === "]" ? 1 : 0;
    view.dispatch({
      changes: { from, to: to + over, insert: text },
      selection: { anchor: from + text.length },
      userEvent: "input.complete",
    });
  };
}

const named = (words: string[], detail: string): Completion[] => words.map((label) => ({ label, detail }));
const FILTERS = named(JINJA_FILTERS, "filter");
const TESTS = named(JINJA_TESTS, "test");
const STATEMENTS = JINJA_STATEMENTS.map(([label, words]) => snippetCompletion(words, { label }));
const VALUES: Completion[] = [
  ...JINJA_VARIABLES.map(([label, detail]) => ({ label, detail })),
  ...named(JINJA_FUNCTIONS, "function"),
  ...named(["not", "and", "or", "in", "is", "else", "true", "false", "none"], "word").map((word) => ({
    ...word,
    boost: -1,
  })),
];
const BEGINNINGS: Completion[] = [
  snippetCompletion("{{ ${name} }}", { label: "{{ … }}", detail: "a value" }),
  snippetCompletion("{% if ${name} is defined %}${}{% endif %}", {
    label: "{% if … %}{% endif %}",
    detail: "a condition",
  }),
  snippetCompletion("{% for ${item} in ${items} %}${}{% endfor %}", {
    label: "{% for … %}{% endfor %}",
    detail: "a loop",
  }),
  snippetCompletion('{% include "${house-style.md}" %}', { label: "{% include … %}", detail: "another file" }),
  snippetCompletion("{# ${} #}", { label: "{# … #}", detail: "a comment; not sent" }),
];

export function jinjaCompletion(context: CompletionContext): CompletionResult | null {
  const inside = openTag(context.state.sliceDoc(Math.max(0, context.pos - 4000), context.pos));
  if (inside === undefined) {
    const begun = context.matchBefore(/\{[{%#]?\s*/);
    return begun || context.explicit ? { from: begun?.from ?? context.pos, options: BEGINNINGS } : null;
  }
  const word = context.matchBefore(/\w*/);
  const from = word?.from ?? context.pos;
  const before = inside.slice(0, inside.length - (context.pos - from));
  const answer = (options: Completion[]): CompletionResult => ({ from, options, validFor: /^\w*$/ });
  if (/\|\s*$/.test(before)) return answer(FILTERS);
  if (/\bis\s+(not\s+)?$/.test(before)) return answer(TESTS);
  if (/^\{%[-+]?\s*$/.test(before)) return answer(STATEMENTS);
  return from < context.pos || context.explicit || /^\{\{[-+]?\s*$/.test(before) ? answer(VALUES) : null;
}

/** The unfinished tag at the end of the text, with its opening brackets. */
export function openTag(before: string): string | undefined {
  const at = Math.max(before.lastIndexOf("{{"), before.lastIndexOf("{%"));
  if (at < 0) return undefined;
  const tag = before.slice(at);
  return /[%}]\}/.test(tag.slice(2)) ? undefined : tag;
}
