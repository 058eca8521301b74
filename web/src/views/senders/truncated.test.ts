import { expect, test } from "vitest";
import { isTruncated } from "./truncated";

test.each([
  ["word word… [128 more characters]", true],
  ["word… [4,032 more characters]", true],
  ["word … [1 more character]", true],
  ["She wrote “… [128 more characters]” to me.", false],
  ["short", false],
])("%s: %s", (text, cut) => expect(isTruncated(text)).toBe(cut));
