import { describe, expect, it } from "vitest";
import type { Layer, Prompt } from "./prompt";
import { arrange, barHeight, breakpointsAfter, heightOf, MIN_HEIGHT, scaleFor, shares } from "./stack_layout";

function layer(id: string, stability: string, status = "included", tokens = 100, end = 0): Layer {
  return {
    id,
    title: id,
    stability,
    status,
    tokens,
    authority: "context",
    source: "file",
    trust: "public",
    range: [0, end],
  };
}

const ids = (layers: Layer[]) => layers.map((layer) => layer.id).join(" ");

describe("a stack", () => {
  const ownerPrompt = [
    layer("policy", "static"),
    layer("soul", "agent"),
    layer("secret", "agent"),
    layer("tools", "agent"),
    layer("user", "conversation"),
    layer("now", "turn"),
    layer("long", "turn", "menu"),
  ];

  it("has withheld layers where they would stand", () => {
    const seen = [
      layer("policy", "static"),
      layer("soul", "agent"),
      layer("tools", "agent"),
      layer("group", "conversation"),
      layer("now", "turn"),
      layer("secret", "agent", "withheld"),
      layer("user", "conversation", "withheld"),
      layer("long", "turn", "withheld"),
    ];
    expect(ids(arrange(seen, ownerPrompt).rows)).toBe("policy soul secret tools user group now long");
  });

  it("keeps the order of withheld layers that stand together", () => {
    const seen = [
      layer("policy", "static"),
      layer("now", "turn"),
      layer("tools", "agent", "withheld"),
      layer("soul", "agent", "withheld"),
      layer("secret", "agent", "withheld"),
    ];
    expect(ids(arrange(seen, ownerPrompt).rows)).toBe("policy soul secret tools now");
  });

  it("puts one nobody has seen at the end of its stability", () => {
    const seen = [
      layer("soul", "agent"),
      layer("now", "turn"),
      layer("unseen", "conversation", "withheld"),
      layer("first", "static", "withheld"),
    ];
    expect(ids(arrange(seen).rows)).toBe("first soul unseen now");
  });

  it("keeps what there is nothing of apart", () => {
    const { rows, nothing } = arrange([
      layer("soul", "agent"),
      layer("channel", "conversation", "absent"),
      layer("note", "turn", "empty"),
    ]);
    expect([ids(rows), ids(nothing)]).toEqual(["soul", "channel note"]);
  });
});

describe("a layer's thickness", () => {
  it("grows with its tokens, and small ones can still be hit", () => {
    const scale = scaleFor([2000]);
    expect(heightOf(layer("a", "agent", "included", 1000), scale)).toBe(280);
    expect(heightOf(layer("a", "agent", "included", 3), scale)).toBe(MIN_HEIGHT);
    expect(heightOf(layer("a", "agent", "withheld", 1000), scale)).toBe(MIN_HEIGHT);
    expect(heightOf(undefined, scale)).toBe(MIN_HEIGHT);
  });

  it("has a bar that tells small ones apart, though their rows are equally high", () => {
    const scale = scaleFor([3000]);
    const [small, larger] = [layer("a", "agent", "included", 78), layer("b", "agent", "included", 130)];
    expect(heightOf(small, scale)).toBe(heightOf(larger, scale));
    expect([barHeight(small, scale), barHeight(larger, scale)]).toEqual([15, 24]);
    expect(barHeight(layer("c", "agent", "included", 1), scale)).toBe(2);
    expect(barHeight(layer("d", "agent", "withheld", 500), scale)).toBe(0);
    const heavy = layer("e", "agent", "included", 2000);
    expect(barHeight(heavy, scale)).toBe(heightOf(heavy, scale));
  });

  it("is not blown up where a prompt is short, and there may be none at all", () => {
    expect(scaleFor([50])).toBe(scaleFor([]));
    expect(scaleFor([50])).toBeLessThan(2);
  });
});

it("a breakpoint stands behind the last layer it keeps", () => {
  const layers = [
    layer("a", "static", "included", 1, 10),
    layer("b", "agent", "included", 1, 30),
    layer("c", "turn", "included", 1, 40),
    layer("gone", "agent", "withheld", 0, 40),
  ];
  const found = breakpointsAfter(layers, [
    { block: 0, class: "agent", tokens: 2, at: 30 },
    { block: 1, class: "agent", tokens: 2, at: 5 },
  ]);
  expect([...found.keys()]).toEqual(["b"]);
});

it("what each stability weighs leaves out what is not in the text", () => {
  const prompt = {
    layers: [layer("a", "static", "included", 5), layer("b", "turn", "cut", 7), layer("c", "turn", "menu", 9)],
  } as Prompt;
  expect(shares(prompt).map((share) => share.tokens)).toEqual([5, 0, 0, 7]);
});
