import { CompletionContext } from "@codemirror/autocomplete";
import { EditorState } from "@codemirror/state";
import { describe, expect, it } from "vitest";
import { bracketCompletion, jinjaCompletion } from "./complete";

const VARIABLES = [
  { type: "system", name: "date", description: "Current date", dynamic: false },
  { type: "file", name: "<path>", description: "A file", dynamic: true },
];

/** `|` is the cursor. */
async function offered(
  written: string,
  dialect: "bracket" | "jinja",
  explicit = false,
): Promise<{ from: string; labels: string[] } | null> {
  const pos = written.indexOf("|>");
  const state = EditorState.create({ doc: written.replace("|>", "") });
  const context = new CompletionContext(state, pos, explicit);
  const result = await (dialect === "jinja" ? jinjaCompletion : bracketCompletion(VARIABLES))(context);
  return result && { from: state.sliceDoc(result.from, pos), labels: result.options.map((option) => option.label) };
}

describe("what can be typed next", () => {
  const table: [string, "bracket" | "jinja", string, string][] = [
    ["Today is [|>", "bracket", "[", "[system:date]"],
    ["Today is [sys|>", "bracket", "[sys", "[system:date]"],
    ["[if |>", "bracket", "", "system:date"],
    ["[if !fi|>", "bracket", "fi", "file:…"],
    ["Hi {{ |>", "jinja", "", "agent_name"],
    ["Hi {{ ag|>", "jinja", "ag", "agent_class"],
    ["Hi {{ x|up|>", "jinja", "up", "upper"],
    ["{% if x is not de|>", "jinja", "de", "defined"],
    ["{%- in|>", "jinja", "in", "include"],
    ["Hi {|>", "jinja", "{", "{{ … }}"],
  ];
  it.each(table)("%j in %s", async (written, dialect, from, label) => {
    const result = await offered(written, dialect);
    expect(result?.from).toBe(from);
    expect(result?.labels).toContain(label);
  });

  it("is nothing in plain text, unless it is asked for", async () => {
    expect(await offered("Today|>", "bracket")).toBeNull();
    expect(await offered("{{ a }} and|>", "jinja")).toBeNull();
    expect((await offered("Today |>", "bracket", true))?.labels).toContain("[system:date]");
  });
});
