import { describe, expect, it } from "vitest";
import { ApiError } from "./client";

describe("what went wrong", () => {
  it.each([
    ["Chromium", "Failed to fetch"],
    ["Chromium, in the middle of an answer", "network error"],
    ["Firefox", "NetworkError when attempting to fetch resource."],
    ["Safari", "Load failed"],
    ["Safari, offline", "The Internet connection appears to be offline."],
  ])("is a server that can't be reached, as %s says it", (_, words) => {
    expect(ApiError.of(new TypeError(words)).code).toBe("unreachable");
  });

  it("is no server's absence if the page itself stumbles: that is said, and not tried forever", () => {
    for (const stumble of [
      () => (undefined as unknown as { items: string }).items,
      () => (undefined as unknown as () => void)(),
    ]) {
      const error = ApiError.of(thrownBy(stumble));
      expect(error.code).toBe("unexpected");
      expect(error.help).toContain("Reload the page");
    }
  });

  it("is told as it is if the server has told it", () => {
    const error = new ApiError("locked", "nobody can change it", null, 403);
    expect(ApiError.of(error)).toBe(error);
  });
});

function thrownBy(stumble: () => unknown): unknown {
  try {
    return stumble();
  } catch (error) {
    return error;
  }
}
