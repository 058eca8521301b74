import { describe, expect, it } from "vitest";
import { showBidiControls } from "./bidi";

describe("characters that turn the direction of a text are shown", () => {
  it.each([
    ["plain words", "Paint the shed", "Paint the shed"],
    ["an override", "gpj.\u202Etxt", "gpj.⟪U+202E⟫txt"],
    ["an isolate and its end", "\u2066a\u2069", "⟪U+2066⟫a⟪U+2069⟫"],
    ["the first and the last of each", "\u202A\u202E\u2066\u2069", "⟪U+202A⟫⟪U+202E⟫⟪U+2066⟫⟪U+2069⟫"],
    ["writing from right to left as it is", "שלום مرحبا", "שלום مرحبا"],
    ["marks that belong to ordinary writing", "a\u200Eb\u200Fc\u200D", "a\u200Eb\u200Fc\u200D"],
    ["nothing", "", ""],
  ])("%s", (_, text, shown) => expect(showBidiControls(text)).toBe(shown));
});
