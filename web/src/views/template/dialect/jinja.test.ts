import { describe, expect, it } from "vitest";
import { jinjaTokens } from "./jinja";

const shown = (text: string) => jinjaTokens(text).map((mark) => `${mark.kind} ${text.slice(mark.from, mark.to)}`);

describe("a Jinja template's marks", () => {
  const table: [string, string[]][] = [
    ["Hi {{ user_id }}!", ["bracket {{", "name user_id", "bracket }}"]],
    ['{{ x|default("}}") }}', ["bracket {{", "name x", "name default", 'string "}}"', "bracket }}"]],
    ["{%- if a is defined -%}", ["bracket {%", "word if", "name a", "word is", "name defined", "bracket -%}"]],
    ["{# a {{ b }} #} c", ["comment {# a {{ b }} #}"]],
    [
      "{% raw %}{{ no }}{% endraw %}",
      ["bracket {%", "word raw", "bracket %}", "bracket {%", "word endraw", "bracket %}"],
    ],
    ["{{ never closed", []],
    ["{# never closed", []],
    ["plain [system:date] { } text", []],
  ];
  it.each(table)("%j", (text, expected) => expect(shown(text)).toEqual(expected));
});
