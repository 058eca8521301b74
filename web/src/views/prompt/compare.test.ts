import { describe, expect, it } from "vitest";
import { alignLayers as pairedOf, summarise } from "./compare";
import { describeEffect, describeOccasion, type Layer, type Prompt } from "./prompt";
import { arrange } from "./stack_layout";

function layer(id: string, status = "included", tokens = 10, hash: string | undefined = `${id}${tokens}`): Layer {
  return {
    id,
    title: id,
    stability: "agent",
    status,
    tokens,
    hash,
    authority: "context",
    source: "file",
    trust: "public",
    range: [0, 0],
  };
}

const alignLayers = (a: Layer[], b: Layer[]) => pairedOf(arrange(a, a), arrange(b, a));

describe("two prompts", () => {
  it("are aligned by layer, with what each has alone where it stands there", () => {
    const a = [layer("soul"), layer("secret"), layer("tools", "included", 30)];
    const b = [
      layer("rules"),
      layer("soul"),
      layer("secret", "withheld", 0),
      layer("tools", "included", 20),
      layer("group"),
    ];
    expect(alignLayers(a, b).map((pair) => `${pair.id}: ${pair.verdict}`)).toEqual([
      "rules: right",
      "soul: same",
      "secret: left",
      "tools: differs",
      "group: right",
    ]);
  });

  const cases: [string, Layer, Layer, string][] = [
    ["fewer tokens", layer("x", "included", 1793), layer("x", "included", 455), "1,338 tokens fewer"],
    ["one more", layer("x", "included", 9), layer("x", "included", 10), "1 token more"],
    ["other words", layer("x", "included", 9, "one"), layer("x", "included", 9, "two"), "different text, same size"],
    ["the same", layer("x"), layer("x"), "the same"],
  ];
  it.each(cases)("are told apart in words: %s", (_, a, b, words) =>
    expect(alignLayers([a], [b])[0]?.words).toBe(words),
  );

  it("tell why there is nothing on one side", () => {
    expect(alignLayers([{ ...layer("x", "absent", 0), reason: "no file" }], [layer("x")])[0]?.a?.reason).toBe(
      "no file",
    );
  });

  it("say nothing of a layer that neither has", () => {
    expect(alignLayers([layer("x", "withheld")], [layer("x", "absent")])).toEqual([]);
  });

  it("are summed up in a sentence", () => {
    expect(summarise(alignLayers([layer("a"), layer("b")], [layer("a"), layer("c")]))).toBe(
      "1 the same, 1 only on the left, 1 only on the right.",
    );
    expect(summarise([])).toBe("No layers on either side.");
  });
});

it("a change of occasion is told in a few words", () => {
  const prompt = (layers: Layer[], total: number) => ({ layers, tokens: { total } }) as Prompt;
  expect(
    describeEffect(prompt([layer("a"), layer("b", "withheld"), layer("c", "withheld"), layer("d", "withheld")], 1536)),
  ).toBe("3 layers withheld, 1,536 tokens");
  expect(describeEffect(prompt([layer("b", "withheld")], 1))).toBe("1 layer withheld, 1 token");
  expect(describeEffect(prompt([layer("a")], 2205))).toBe("nothing withheld, 2,205 tokens");
});

it("an occasion is named by who and where", () => {
  expect(describeOccasion({}, "alice")).toBe("alice, private");
  expect(describeOccasion({ user: "bob", situation: "group", agent: "keeper" }, "alice")).toBe("bob, group, keeper");
});
