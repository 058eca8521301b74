import { describe, expect, it } from "vitest";
import { Drafts, normalizeLineEndings } from "./drafts";

function storage() {
  const kept = new Map<string, string>();
  return {
    kept,
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, text: string) => void kept.set(name, text),
    removeItem: (name: string) => void kept.delete(name),
    key: (at: number) => [...kept.keys()][at] ?? null,
    get length() {
      return kept.size;
    },
  };
}

describe("unsaved work", () => {
  it("is found again, the newest first, whatever it is based on", () => {
    const here = storage();
    const drafts = new Drafts("template", "alice", "http://a", here);
    drafts.save(3, "three", new Date(1000));
    drafts.save(2, "two", new Date(2000));
    expect(drafts.newest()).toMatchObject({ base: 2, text: "two" });
    drafts.clear();
    expect(drafts.newest()).toBeUndefined();
  });

  it("of another server, of somebody else, or of something else, is left alone", () => {
    const here = storage();
    new Drafts("template", "alice", "http://b", here).save(1, "theirs");
    new Drafts("layer keeper 6", "alice", "http://a", here).save(1, "a layer");
    new Drafts("template", "bob", "http://a", here).save(1, "bob's");
    const drafts = new Drafts("template", "alice", "http://a", here);
    expect(drafts.newest()).toBeUndefined();
    drafts.clear();
    expect(here.kept.size).toBe(3);
  });

  it("that is broken, or that finds no room, is no failure", () => {
    const here = storage();
    here.kept.set("foreword.draft http://a alice template v1", "{");
    expect(new Drafts("template", "alice", "http://a", here).newest()).toBeUndefined();
    const full = {
      ...storage(),
      setItem: () => {
        throw new DOMException("full", "QuotaExceededError");
      },
    };
    expect(new Drafts("template", "alice", "http://a", full).save(1, "x")).toBe(false);
  });
});

it("line ends are one kind in the editor", () => expect(normalizeLineEndings("a\r\nb\rc\n")).toBe("a\nb\nc\n"));
