// The insert buttons: what each inserts, and its help text.
import { snippet } from "@codemirror/autocomplete";
import type { EditorView } from "@codemirror/view";
import type { Variable } from "../../api/schema";
import { JINJA_VARIABLES } from "./dialect/keywords";

export interface Button {
  label: string;
  description: string;
  /** The inserted text; `${…}` is the cursor position, `SELECTED` the selected text. */
  words: string;
  /** Whether to ask for a path first, which replaces `PATH`. */
  asksPath?: boolean;
}

export interface ButtonGroup {
  name: string;
  buttons: Button[];
}

export function buttonsFor(dialect: string, variables: Variable[]): ButtonGroup[] {
  return dialect === "jinja" ? JINJA : [...byType(variables), { name: "condition", buttons: [CONDITION] }];
}

function byType(variables: Variable[]): ButtonGroup[] {
  const groups = new Map<string, Button[]>();
  for (const variable of variables)
    groups.set(variable.type, [...(groups.get(variable.type) ?? []), variableButton(variable)]);
  return [...groups].map(([name, buttons]) => ({ name, buttons }));
}

function variableButton({ type, name, description, dynamic }: Variable): Button {
  if (dynamic) return { label: "path …", description, words: `[${type}:PATH]`, asksPath: true };
  return { label: name, description, words: `[${type}:${name}]` };
}

const CONDITION: Button = {
  label: "if … else … endif",
  description:
    "One text if a variable is set, another if not. Name the variable after if; a ! before it negates the condition.",
  words: "[if ${git:branch}]SELECTED${}[else]${}[endif]",
};

const JINJA: ButtonGroup[] = [
  {
    name: "value",
    buttons: JINJA_VARIABLES.map(([name, description]) => ({ label: name, description, words: `{{ ${name} }}` })),
  },
  {
    name: "block",
    buttons: [
      {
        label: "if … else … endif",
        description: "One text if a value is set, another if not.",
        words: "{% if ${name} is defined %}SELECTED${}{% else %}${}{% endif %}",
      },
      {
        label: "for … endfor",
        description: "A text for each item of a list.",
        words: "{% for ${item} in ${items} %}SELECTED${}{% endfor %}",
      },
      {
        label: "include …",
        description: "Another file, from the template's folder.",
        words: '{% include "PATH" %}',
        asksPath: true,
      },
      { label: "comment", description: "A comment for editors; not sent.", words: "{# SELECTED${} #}" },
    ],
  },
];

/** Validates a path for use in a template. */
export function pathProblem(path: string): string | undefined {
  if (path.trim() === "") return "Which file?";
  if (/[[\]"{}\n]/.test(path)) return "A path cannot contain brackets, braces or quotes here.";
  return undefined;
}

/** The tag that includes a file, optionally only if the file exists. */
export function fileTag(button: Button, path: string, onlyIfThere: boolean): string {
  const file = button.words.replace("PATH", () => path.trim());
  if (!onlyIfThere) return file;
  return button.words.startsWith("{%")
    ? file.replace(" %}", " ignore missing %}")
    : `[if ${file.slice(1, -1)}]\n${file}\n[endif]`;
}

/** Replaces the selection and sets the cursor. */
export function insert(view: EditorView, words: string): void {
  const { from, to } = view.state.selection.main;
  const selected = view.state.sliceDoc(from, to);
  if (words.includes("${"))
    snippet(words.replace("SELECTED", () => selected.replace(/[{}]/g, "\\$&")))(view, null, from, to);
  else view.dispatch({ ...view.state.replaceSelection(words), scrollIntoView: true, userEvent: "input.button" });
  view.focus();
}
